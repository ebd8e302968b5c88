package serve_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/serve"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/token"
)

// publishing is a server of one small instance that publishes its blocks, and somebody
// who hears them.
func publishing(t *testing.T, set ...string) (*running, zmq4.Socket) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	events, err := serve.NewKVEvents(ctx, "tcp://127.0.0.1:0", 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	v, err := config.PrepareServing(smallWith(t, set...), config.Options{
		Blocks: func(_ *cluster.Instance, e *engine.BlockEvent, atMs float64) { events.Tell(0, e, atMs) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{serving: v, ended: make(chan simulate.End, 1), halt: cancel}
	r.backend = serve.NewBackend(0, v.Stepper)
	r.Server = serve.NewServer(r.backend, serve.Options{Model: "m", ContextTokens: v.ContextTokens(), Events: events})
	go func() {
		end, _ := r.backend.Run(ctx)
		r.ended <- end
	}()
	heard := zmq4.NewSub(ctx)
	if err := heard.Dial("tcp://" + events.Addresses()[0].String()); err != nil {
		t.Fatal(err)
	}
	if err := heard.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		t.Fatal(err)
	}
	return r, heard
}

// stored is an event as a subscriber decodes it.
type stored struct {
	Type   string   `msgpack:"type"`
	Hashes []uint64 `msgpack:"block_hashes"`
	Parent *uint64  `msgpack:"parent_block_hash"`
	IDs    []uint32 `msgpack:"token_ids"`
	Size   int      `msgpack:"block_size"`
	Medium string   `msgpack:"medium"`
}

// batch decodes a message.
func batch(t *testing.T, m zmq4.Msg) (number uint64, events []stored) {
	t.Helper()
	if len(m.Frames) != 3 {
		t.Fatalf("%d frames, want topic, number and payload", len(m.Frames))
	}
	var parts []msgpack.RawMessage
	if err := msgpack.Unmarshal(m.Frames[2], &parts); err != nil || len(parts) != 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	if err := msgpack.Unmarshal(parts[1], &events); err != nil {
		t.Fatal(err)
	}
	return binary.BigEndian.Uint64(m.Frames[1]), events
}

// Subscribers hear of the blocks that an instance holds, and of those that it lost: with
// their tokens, as a chain, without a gap in the numbers. Who sums them up knows what the
// instance holds.
func TestSubscribersKnowWhatAnInstanceHolds(t *testing.T) {
	r, heard := publishing(t)
	defer r.stop(t)
	received := make(chan zmq4.Msg, 1)
	go func() {
		for {
			m, err := heard.Recv()
			if err != nil {
				return
			}
			received <- m
		}
	}()
	holds, last := map[uint64]bool{}, uint64(0)
	removed := 0
	for n := 1; removed < 5; n++ {
		prompt := []uint32{uint32(n), 2, 3, 4, 5, 6, 7, 8, 9}
		r.ask(t.Context(), "POST", "/v1/completions", fmt.Sprintf(`{"prompt":[%d,2,3,4,5,6,7,8,9],"max_tokens":4,"cache_salt":"s%d"}`, n, n%2), nil)
		for waiting := true; waiting; {
			select {
			case m := <-received:
				number, events := batch(t, m)
				if last != 0 && number != last+1 {
					t.Fatalf("number %d after %d", number, last)
				}
				last = number
				for _, e := range events {
					removed += count(t, e, prompt, holds)
				}
			default:
				waiting = false
			}
		}
		if n > 100000 {
			t.Fatal("nothing was ever removed")
		}
	}
}

// count takes in an event and returns how many blocks it removed. Events that come late
// are of an earlier prompt, which differs in its first token.
func count(t *testing.T, e stored, prompt []uint32, holds map[uint64]bool) (removed int) {
	t.Helper()
	switch e.Type {
	case "BlockStored":
		if e.Size != 4 || e.Medium != "GPU" || len(e.IDs) != 4*len(e.Hashes) {
			t.Fatalf("%+v", e)
		}
		if e.Parent == nil && !slices.Equal(e.IDs[1:4], prompt[1:4]) {
			t.Fatalf("tokens %v of a prompt like %v", e.IDs, prompt)
		}
		for _, h := range e.Hashes {
			holds[h] = true
		}
	case "BlockRemoved":
		for _, h := range e.Hashes {
			delete(holds, h)
		}
		return len(e.Hashes)
	default:
		t.Fatalf("an event of type %q", e.Type)
	}
	return 0
}

// Hashes are the keys that routers know blocks by, of content without a salt.
func TestHashesOfEventsAreKeys(t *testing.T) {
	r, heard := publishing(t)
	defer r.stop(t)
	got := make(chan []uint64, 1)
	go func() {
		m, err := heard.Recv()
		if err != nil {
			return
		}
		_, events := batch(t, m)
		got <- events[0].Hashes
	}()
	for n := uint32(1); ; n++ { // until the subscription has reached the publisher
		body := fmt.Sprintf(`{"prompt":[%d,2,3,4,5,6,7,8,9],"max_tokens":1}`, n)
		r.ask(t.Context(), "POST", "/v1/completions", body, nil)
		select {
		case hashes := <-got:
			for m := n; m > 0; m-- {
				keys := token.IDs([]uint32{m, 2, 3, 4, 5, 6, 7, 8, 9}).Keys(nil, 4)
				if slices.Contains(keys, token.Key(hashes[0])) { // blocks may be told one by one
					return
				}
			}
			t.Fatalf("%x are no keys of what was asked", hashes)
		default:
		}
	}
}

// Who has missed something can ask for it: all messages from a number on, without a
// gap, then the end.
func TestWhatWasMissedCanBeAskedForAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	events, err := serve.NewKVEvents(ctx, "tcp://127.0.0.1:0", 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := events.Replay(ctx, "tcp://127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	for word := range uint64(9) {
		events.Tell(0, &engine.BlockEvent{Kind: engine.Stored, Words: []uint64{word}, To: 1}, 0)
	}
	client := zmq4.NewDealer(ctx)
	defer client.Close()
	if err := client.Dial("tcp://" + events.ReplayAddresses()[0].String()); err != nil {
		t.Fatal(err)
	}
	if err := client.Send(zmq4.NewMsgFrom(nil, []byte("what?"))); err != nil { // no answer
		t.Fatal(err)
	}
	for _, from := range []uint64{3, 0, 9} {
		if err := client.Send(zmq4.NewMsgFrom(nil, binary.BigEndian.AppendUint64(nil, from))); err != nil {
			t.Fatal(err)
		}
		for want := from; ; want++ {
			m, err := client.Recv()
			if err != nil || len(m.Frames) != 3 {
				t.Fatalf("from %d: %v %v", from, m, err)
			}
			if number := binary.BigEndian.Uint64(m.Frames[1]); want == 9 {
				if number != math.MaxUint64 || len(m.Frames[2]) != 0 {
					t.Fatalf("from %d: number %d at the end", from, number)
				}
				break
			}
			number, told := batch(t, m)
			if number != want || len(told) != 1 || told[0].Hashes[0] != want {
				t.Fatalf("from %d: number %d, %+v, want %d", from, number, told, want)
			}
		}
	}
}

func TestAnEndpointIsChecked(t *testing.T) {
	for _, endpoint := range []string{"", "127.0.0.1:1", "tcp://127.0.0.1", "tcp://127.0.0.1:x", "ipc://a:1"} {
		if _, err := serve.NewKVEvents(t.Context(), endpoint, 1, 4); err == nil {
			t.Errorf("%q is taken", endpoint)
		}
	}
}
