package record

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// answer notes the head of an answer and returns its body, which is looked at as it is
// read.
func (c *call) answer(resp *http.Response) io.ReadCloser {
	c.status = resp.StatusCode
	c.stream = strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	c.coding = strings.ToLower(resp.Header.Get("Content-Encoding"))
	if c.coding == "identity" {
		c.coding = ""
	}
	return &watched{body: resp.Body, call: c, ctx: resp.Request.Context()}
}

// watched is the body of an answer on its way to the client.
type watched struct {
	body io.ReadCloser
	call *call
	ctx  context.Context
}

// Read passes the next piece on. It is looked at when the next one is asked for, that
// is, when it has been passed on; the last one before its end is, so that a client
// that has the whole answer can rely on its being recorded.
func (w *watched) Read(p []byte) (int, error) {
	c := w.call
	c.settle()
	n, err := w.body.Read(p)
	if n > 0 {
		c.atMs = c.r.now()
		c.pending = append(c.pending[:0], p[:n]...)
	}
	if err == nil {
		return n, nil
	}
	c.settle()
	switch {
	case errors.Is(err, io.EOF):
		c.done = true
	case w.ctx.Err() == nil:
		c.broken = "broken_off"
	}
	c.finish()
	return n, err
}

func (w *watched) Close() error { return w.body.Close() }

// settle looks at the piece that has been passed on last.
func (c *call) settle() {
	if len(c.pending) == 0 {
		return
	}
	c.lastMs = c.atMs
	c.guard(func() { c.look(c.pending) })
	c.pending = c.pending[:0]
}

// look reads a piece of the answer.
func (c *call) look(piece []byte) {
	switch {
	case c.stream && c.coding == "":
		c.events.Write(piece, func(name, data []byte) { c.reply.Event(name, data, c.atMs) })
	case len(c.whole)+len(piece) > maxBody:
		c.tooBig, c.whole = true, nil
	case !c.tooBig:
		c.whole = append(c.whole, piece...)
	}
}

// conclude reads what can only be read once it is complete. Chunks of an encoded
// stream cannot be told apart in time: all of them came at its end.
func (c *call) conclude() {
	if len(c.whole) == 0 {
		return
	}
	text, err := decoded(c.whole, c.coding)
	switch {
	case err != nil:
		c.reply.Fail("unreadable", "the answer cannot be decoded: "+err.Error())
	case c.stream:
		c.events.Write(text, func(name, data []byte) { c.reply.Event(name, data, c.lastMs) })
	default:
		c.reply.Whole(text, c.lastMs)
	}
}

// decoded undoes a Content-Encoding. What decodes to more than maxBody is refused.
func decoded(body []byte, coding string) ([]byte, error) {
	var r io.Reader = bytes.NewReader(body)
	switch coding {
	case "":
		return body, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		r = z
	case "deflate":
		z, err := zlib.NewReader(r)
		if err != nil {
			return nil, err
		}
		r = z
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBody))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	default:
		return nil, errors.New("encoding " + coding + ", expected gzip, deflate, br or zstd")
	}
	text, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err == nil && len(text) > maxBody {
		err = errors.New("more than 256 MiB")
	}
	return text, err
}
