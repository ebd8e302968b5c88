package wire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/sse"
)

// receiver reads one answer.
type receiver struct {
	answer  *Answer
	request *Request
	watch   *watch
	now     func() float64
	done    bool // the server has said that nothing more comes
}

// errMalformed is wrapped by what an answer should not contain.
var errMalformed = errors.New("the answer makes no sense")

// stream reads events until the server says that it is done or the stream ends.
func (r *receiver) stream(body io.Reader) error {
	events := sse.NewReader(body, sse.MaxEvent)
	for {
		text, err := events.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r.watch.touch()
		if string(text) == "[DONE]" {
			r.done = true
			// What is left is the end of the body, without which the connection could not
			// be used again.
			_, err := io.Copy(io.Discard, io.LimitReader(body, maxRefusal))
			return err
		}
		if err := r.message(text); err != nil {
			return err
		}
	}
}

// whole reads an answer that is not streamed.
func (r *receiver) whole(body io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(body, sse.MaxEvent))
	if err != nil {
		return err
	}
	r.done = true
	return r.message(text)
}

// message takes one JSON object.
func (r *receiver) message(text []byte) error {
	m, err := parse(text)
	if err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	at, before := r.now(), len(r.answer.Chunks)
	if f := r.answer.take(m, at); f != nil {
		return f
	}
	if len(r.answer.Chunks) > before && r.request.Tokens != nil {
		r.request.Tokens(max(int32(len(r.answer.IDs)), int32(len(r.answer.Chunks))), at)
	}
	return nil
}

// end is what is wrong with the answer as a whole, err being what ended it.
func (r *receiver) end(ctx context.Context, err error) *Failure {
	a := r.answer
	var f *Failure
	switch {
	case errors.As(err, &f):
		return f
	case err != nil && r.done: // after all that counts
	case errors.Is(err, errMalformed):
		return &Failure{Kind: metrics.BrokenStream, Status: a.Status, Detail: err.Error()}
	case err != nil:
		return broken(ctx, err, metrics.BrokenStream, a.Status)
	}
	if a.Finish == "" {
		return &Failure{Kind: metrics.BrokenStream, Status: a.Status,
			Detail: fmt.Sprintf("the answer ended after %d tokens without a finish_reason", a.Tokens())}
	}
	return nil
}
