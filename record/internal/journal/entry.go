package journal

import "encoding/json"

// The schema and the version that the first line names.
const (
	Schema  = "reprise.journal"
	Version = 1
)

// Entry is one line. Exactly one member is set.
type Entry struct {
	Start *Start `json:"start,omitempty"`
	Begin *Begin `json:"begin,omitempty"`
	Call  *Call  `json:"call,omitempty"`
	IDs   *IDs   `json:"ids,omitempty"`
	Mark  *Mark  `json:"mark,omitempty"`
	Lost  *Lost  `json:"lost,omitempty"`
	End   *End   `json:"end,omitempty"`
}

// Start is the first line: what is being recorded.
type Start struct {
	Schema    string `json:"schema"`
	Version   int    `json:"version"`
	Upstream  string `json:"upstream,omitempty"` // without user and password
	Started   string `json:"started,omitempty"`  // wall clock, RFC 3339
	Redacted  bool   `json:"redacted,omitempty"`
	Tokenizer string `json:"tokenizer,omitempty"` // "sha256:…" of the local tokenizer
	Template  string `json:"template,omitempty"`  // "sha256:…" of its chat template
}

// Begin says that a call was passed on. A call that has no Call entry was in flight
// when the recording ended.
type Begin struct {
	Seq int64   `json:"seq"` // number of the call in the recording, from 1
	Ms  float64 `json:"ms"`  // from the start of the recording
}

// Outcomes of a call.
const (
	Done      = "done"      // the answer is whole
	Cancelled = "cancelled" // the client hung up
	Failed    = "failed"    // refused, broken off, or an error inside the answer
)

// Call is a call that ended. Times are ms from the start of the recording; counts are
// -1 if nobody said them.
type Call struct {
	Seq      int64           `json:"seq"`
	API      string          `json:"api"`
	Who      Who             `json:"who"`
	Model    string          `json:"model,omitempty"`
	Stream   bool            `json:"stream,omitempty"`
	StartMs  float64         `json:"start_ms"`           // the request was passed on
	FirstMs  *float64        `json:"first_ms,omitempty"` // the first content came
	EndMs    float64         `json:"end_ms"`             // the last byte came
	Status   int             `json:"status,omitempty"`   // of HTTP
	Outcome  string          `json:"outcome"`
	Reason   string          `json:"reason,omitempty"` // of a failure, one word
	Error    string          `json:"error,omitempty"`  // what the server said; not if redacted
	Response string          `json:"response,omitempty"`
	Choices  int             `json:"choices,omitempty"` // asked for, if not 1
	Batched  bool            `json:"batched,omitempty"` // several prompts in one request
	Body     uint64          `json:"body,omitempty"`    // digest of the request, to know it again
	Retry    int32           `json:"retry,omitempty"`   // attempt as the client counts, from 0
	Finish   string          `json:"finish,omitempty"`
	Input    int32           `json:"input"`  // tokens of the prompt
	Output   int32           `json:"output"` // tokens of the answer
	Cached   int32           `json:"cached"` // tokens of the prompt that the server had
	IDs      *IDs            `json:"ids,omitempty"`
	Talk     *Talk           `json:"talk,omitempty"`
	ChunkMs  []float64       `json:"chunk_ms,omitempty"`  // arrival of each piece with content
	ChunkIDs []int32         `json:"chunk_ids,omitempty"` // ids in each of them, if they have any
	Sampling json.RawMessage `json:"sampling,omitempty"`
	Metrics  json.RawMessage `json:"metrics,omitempty"` // of the server
	Experts  *Experts        `json:"experts,omitempty"`
}

// Who says whose call it is, as far as the client said so.
type Who struct {
	Task    string   `json:"task,omitempty"`
	Session string   `json:"session,omitempty"`
	Parent  string   `json:"parent,omitempty"` // session that this one is a sub-agent of
	Call    string   `json:"call,omitempty"`   // the client's name for the call
	After   []string `json:"after,omitempty"`  // calls and tools that it waits for
	From    string   `json:"from,omitempty"`   // header or field that named the session
	// Previous is the response that the request continues by its id.
	Previous string `json:"previous,omitempty"`
}

// Sources of token ids.
const (
	FromServer   = "server"   // returned with the answer
	FromClient   = "client"   // the prompt was sent as ids
	FromRender   = "render"   // the server's /render on the same request
	FromTokenize = "tokenize" // the server's /tokenize
	FromLocal    = "local"    // the local tokenizer and chat template
)

// IDs is the token ids of a call. The prompt is the first Keep tokens of the input
// and output of call Base, then Own; Base is 0 if there is none. Ids are 4 bytes
// little-endian each.
type IDs struct {
	Seq        int64  `json:"seq,omitempty"` // of the call, if the ids stand on a line of their own
	InputFrom  string `json:"input_from,omitempty"`
	OutputFrom string `json:"output_from,omitempty"`
	Base       int64  `json:"base,omitempty"`
	Keep       int32  `json:"keep,omitempty"`
	Own        []byte `json:"own,omitempty"`
	Output     []byte `json:"output,omitempty"`
}

// Talk is the conversation that a request carries. Digests are salted with a number
// that is forgotten with the recorder; they tell messages apart and nothing else.
type Talk struct {
	// Chain names each beginning of the conversation: Chain[i] stands for the
	// messages 0 to i. Roles has one letter a message: s, u, a, t (system, user,
	// assistant, tool result).
	Chain []uint64 `json:"chain,omitempty"`
	Roles string   `json:"roles,omitempty"`
	// Next names the conversation with the answer at its end.
	Next    uint64     `json:"next,omitempty"`
	Answers []string   `json:"answers,omitempty"` // ids of the tool calls whose results are in it
	Tools   []ToolCall `json:"tools,omitempty"`   // tool calls in the answer
	// The text, not if redacted: Messages from number Keep on; the ones before are the
	// first Keep of call Base.
	Base     int64             `json:"base,omitempty"`
	Keep     int               `json:"keep,omitempty"`
	Messages []json.RawMessage `json:"messages,omitempty"`
	Offered  json.RawMessage   `json:"offered,omitempty"` // the tools that the model may call
	Prompt   string            `json:"prompt,omitempty"`
	Reply    json.RawMessage   `json:"reply,omitempty"`
}

// ToolCall is a tool call in an answer, complete at Ms, when Output tokens had come.
type ToolCall struct {
	ID     string          `json:"id,omitempty"`
	Name   string          `json:"name,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"` // not if redacted
	Ms     float64         `json:"ms"`
	Output int32           `json:"output,omitempty"`
}

// Experts says where the expert ids of a call are in the file beside the journal:
// Rows × Layers × TopK ids of 2 bytes little-endian at Offset, the first for position
// From.
type Experts struct {
	Offset int64 `json:"offset"`
	From   int32 `json:"from"`
	Rows   int32 `json:"rows"`
	Layers int32 `json:"layers"`
	TopK   int32 `json:"top_k"`
}

// Kinds of marks.
const (
	Invocation = "invocation"
	ToolStart  = "tool_start"
	ToolEnd    = "tool_end"
	Spawn      = "spawn"
	Join       = "join"
)

// Mark is what an agent says about itself.
type Mark struct {
	Kind    string          `json:"mark"`
	Ms      float64         `json:"ms"`
	Task    string          `json:"task,omitempty"`
	Session string          `json:"session,omitempty"`
	Parent  string          `json:"parent,omitempty"` // spawn: session that starts this one
	Call    string          `json:"call,omitempty"`   // invocation: name of the coming call
	Tool    string          `json:"tool,omitempty"`   // tool_start, tool_end: name of this tool call
	Name    string          `json:"name,omitempty"`   // of the tool
	After   []string        `json:"after,omitempty"`
	Of      []string        `json:"of,omitempty"` // join: sessions, tools or calls
	Args    json.RawMessage `json:"args,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

// Lost says that entries before it could not be written.
type Lost struct {
	Entries int    `json:"entries"`
	Why     string `json:"why"`
}

// End is the last line of a recording that ended in order.
type End struct {
	Ms          float64 `json:"ms"`
	Unrecorded  int     `json:"unrecorded,omitempty"` // requests to other endpoints, passed on
	Interrupted int     `json:"interrupted,omitempty"`
}

// Pack is ids as entries hold them.
func Pack(ids []uint32) []byte {
	b := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		b = append(b, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	return b
}

// Unpack is the ids that Pack has packed; a rest of less than 4 bytes is none.
func Unpack(b []byte) []uint32 {
	ids := make([]uint32, len(b)/4)
	for i := range ids {
		p := b[4*i:]
		ids[i] = uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
	}
	return ids
}
