package record

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/reprise-sim/reprise/tokenize"
)

// Whether return_token_ids is added to requests.
const (
	AskAuto   = "auto" // where the server's own description of its API has it
	AskAlways = "always"
	AskNever  = "never"
)

// Where token ids come from that the server does not return with its answers.
const (
	IDsAuto   = "auto"   // the server's /tokenize, else the local tokenizer
	IDsLocal  = "local"  // the local tokenizer
	IDsAnswer = "answer" // from nowhere: only ids that come with answers are kept
)

// Options say what is recorded and how.
type Options struct {
	// Upstream is the server's root, such as http://localhost:8000. A path in it stands
	// in front of the path of each request.
	Upstream *url.URL
	// Journal is the file to keep the recording in; it must not exist.
	Journal string
	Ask     string // one of the Ask constants; "" is AskAuto
	IDs     string // one of the IDs constants; "" is IDsAuto
	// Tokenizer is the local tokenizer, nil if there is none.
	Tokenizer *tokenize.Model
	// Redact keeps no text: no messages, no arguments or results of tools, no stop
	// strings, no error messages.
	Redact bool
	// Transport sends requests on; nil is one that does not follow proxies or change
	// encodings.
	Transport http.RoundTripper
	// Log is told in a line what a person should know; nil is nobody.
	Log func(line string)
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	switch {
	case o.Upstream == nil || o.Upstream.Host == "" || o.Upstream.Scheme != "http" && o.Upstream.Scheme != "https":
		return fmt.Errorf("upstream: %v: want a URL such as http://localhost:8000", o.Upstream)
	case o.Journal == "":
		return errors.New("journal: want a file")
	case !slices.Contains([]string{"", AskAuto, AskAlways, AskNever}, o.Ask):
		return fmt.Errorf("return-token-ids: %s: want %s, %s or %s", o.Ask, AskAuto, AskAlways, AskNever)
	case !slices.Contains([]string{"", IDsAuto, IDsLocal, IDsAnswer}, o.IDs):
		return fmt.Errorf("ids: %s: want %s, %s or %s", o.IDs, IDsAuto, IDsLocal, IDsAnswer)
	case o.IDs == IDsLocal && o.Tokenizer == nil:
		return errors.New("ids: local: want a tokenizer")
	}
	return nil
}
