package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strings"

	"github.com/reprise-sim/reprise/record/internal/wire"
)

// ownPaths is where the recorder's own endpoints are; they are not passed on.
const ownPaths = "/reprise/v1/"

// maxBody bounds the requests and the whole answers that are recorded. Larger ones
// pass and are left out.
const maxBody = 256 << 20

// callKey finds the call in a request's context.
type callKey struct{}

// callOf is the call that a request carries, nil if none.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// ServeHTTP passes a request on and records it, if it is a call.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if path, ok := strings.CutPrefix(req.URL.Path, ownPaths); ok {
		r.serveOwn(w, req, path)
		return
	}
	session, path := sessionPath(req.URL.Path)
	if session != "" {
		req.URL.Path, req.URL.RawPath = path, ""
	}
	api := wire.Of(req.Method, path)
	if api == "" {
		r.count(func(c *Counts) { c.PassedOn++ })
		r.proxy.ServeHTTP(w, req)
		return
	}
	body, whole, err := readBody(req)
	if err != nil {
		http.Error(w, "reading the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	if !whole {
		r.opts.Log("a request of more than 256 MiB passes without being recorded")
		r.count(func(c *Counts) { c.PassedOn++ })
		r.proxy.ServeHTTP(w, req)
		return
	}
	c := r.begin(api, req, body, session)
	// The proxy panics to break off an answer; the call ends all the same.
	defer c.end()
	setBody(req, r.asked(api, req, body))
	r.proxy.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), callKey{}, c)))
}

// sessionPath takes the session out of a path /s/<session>/v1/…: any client can name
// one by its base URL.
func sessionPath(path string) (session, rest string) {
	after, ok := strings.CutPrefix(path, "/s/")
	if !ok {
		return "", path
	}
	session, rest, ok = strings.Cut(after, "/")
	if !ok || session == "" {
		return "", path
	}
	return session, "/" + rest
}

// readBody reads the body of a request. If it is too large, the request keeps all of
// it and whole is false.
func readBody(req *http.Request) (body []byte, whole bool, err error) {
	size := max(req.ContentLength, 0)
	if size > maxBody {
		return nil, false, nil
	}
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead)
	if _, err := io.Copy(&b, io.LimitReader(req.Body, maxBody+1)); err != nil {
		return nil, false, err
	}
	if b.Len() <= maxBody {
		return b.Bytes(), true, nil
	}
	rest := req.Body
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&b, rest), rest}
	return nil, false, nil
}

// setBody gives a request a body that is in memory.
func setBody(req *http.Request, body []byte) {
	req.Body = io.NopCloser(bytes.NewReader(body))
	if req.ContentLength != int64(len(body)) {
		req.Header.Del("Content-Length")
		req.ContentLength = int64(len(body))
		req.TransferEncoding = nil
	}
}

// passOn undoes what the proxy does to a request that another proxy may have sent.
func passOn(out, in *http.Request) {
	out.URL.RawQuery = in.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := in.Header[name]; ok {
			out.Header[name] = v
		}
	}
}

// newProxy is the way to the server and back.
func (r *Recorder) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(r.opts.Upstream)
			passOn(p.Out, p.In)
			if user := r.opts.Upstream.User; user != nil && p.Out.Header.Get("Authorization") == "" {
				password, _ := user.Password()
				p.Out.SetBasicAuth(user.Username(), password)
			}
			if c := callOf(p.Out.Context()); c != nil {
				c.sent()
			}
		},
		FlushInterval: -1,
		Transport:     r.opts.Transport,
		BufferPool:    &buffers,
		ErrorLog:      log.New(io.Discard, "", 0), // answers that break off are recorded
		ModifyResponse: func(resp *http.Response) error {
			if c := callOf(resp.Request.Context()); c != nil {
				resp.Body = c.answer(resp)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, req *http.Request, err error) {
			if c := callOf(req.Context()); c != nil {
				c.unreachable(err)
			}
			if !errors.Is(err, context.Canceled) {
				r.opts.Log("the server cannot be reached: " + err.Error())
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
}
