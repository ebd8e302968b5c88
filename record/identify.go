package record

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/reprise-sim/reprise/record/internal/journal"
)

// Headers by which a client says whose call it is.
const (
	headerTask    = "X-Reprise-Task"
	headerSession = "X-Reprise-Session"
	headerParent  = "X-Reprise-Parent"  // session that started this one
	headerCall    = "X-Reprise-Call"    // the client's name for the call
	headerAfter   = "X-Reprise-After"   // calls, tools and sessions that it waits for, with commas between
	headerAttempt = "X-Reprise-Attempt" // 0 for the first
)

// sessionHeaders name sessions in the words of other tools, the clearest first
// (spec/live.md D.2).
var sessionHeaders = []string{headerSession, "X-Dynamo-Session-Id", "X-Session-Id", "Session_id", "Session-Id"}

// identify reads what the headers and the path of a request say about whose call it
// is, and which attempt.
func identify(h http.Header, pathSession string) (who journal.Who, attempt int32) {
	who = journal.Who{
		Task: h.Get(headerTask), Parent: first(h, headerParent, "X-Parent-Session-Id"), Call: h.Get(headerCall),
		After: list(h.Values(headerAfter)),
	}
	switch name := h.Get(headerSession); {
	case name != "":
		who.Session, who.From = name, headerSession
	case pathSession != "":
		who.Session, who.From = pathSession, "path"
	default:
		for _, name := range sessionHeaders {
			if s := h.Get(name); s != "" {
				who.Session, who.From = s, name
				break
			}
		}
	}
	n, err := strconv.ParseInt(first(h, headerAttempt, "X-Stainless-Retry-Count"), 10, 31)
	if err != nil || n < 0 {
		return who, 0
	}
	return who, int32(n)
}

// first is the value of the first header that is there.
func first(h http.Header, names ...string) string {
	for _, name := range names {
		if v := h.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// list is the names in headers that hold several.
func list(values []string) (names []string) {
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// secretHeaders give access to a server.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cookie"}

// secretQuery are parameters of an address that do.
var secretQuery = []string{"key", "api_key", "api-key", "token", "access_token"}

// secretsOf is what gives access in a request. None of it is written, and servers that
// repeat it in an answer do not bring it to the disk either.
func secretsOf(req *http.Request) (secrets []string) {
	for _, name := range secretHeaders {
		for _, v := range req.Header.Values(name) {
			secrets = append(secrets, v)
			if _, token, ok := strings.Cut(v, " "); ok {
				secrets = append(secrets, strings.TrimSpace(token))
			}
		}
	}
	query := req.URL.Query()
	for _, name := range secretQuery {
		secrets = append(secrets, query[name]...)
	}
	return secrets
}
