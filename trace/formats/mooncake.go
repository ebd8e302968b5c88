package formats

import (
	"io"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/mooncake"
)

func init() {
	register(Format{
		Name:  mooncake.Name,
		About: "Mooncake's request logs: arrival in ms, lengths, ids of prompt blocks, optional sessions",
		Looks: "a row with output_length and input_length or hash_ids",
		Sniff: mooncake.Sniff,
		Open: func(inputs []*trace.Input, o Options) (trace.Trace, error) {
			return mooncake.Open(inputs, mooncake.Options{BlockSize: o.BlockSize, IDs: o.IDs, IDsCover: o.IDsCover})
		},
		Create: func(path string, h trace.Header) (trace.Sink, error) { return mooncake.Create(path, h) },
		Write:  func(w io.Writer, h trace.Header) (trace.Sink, error) { return mooncake.NewWriter(w, h), nil },
	})
}
