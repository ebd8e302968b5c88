package formats

import (
	"io"

	"github.com/reprise-sim/reprise/setting"
	"github.com/reprise-sim/reprise/trace"
)

func init() {
	register(Format{
		Name:   trace.Native,
		About:  "Reprise's own: tasks of calls, tools and waits, with tokens or block ids",
		Looks:  `a first line {"schema":"reprise.trace", …}`,
		Sniff:  trace.SniffNative,
		Open:   openNative,
		Create: func(path string, h trace.Header) (trace.Sink, error) { return trace.Create(path, h) },
		Write:  func(w io.Writer, h trace.Header) (trace.Sink, error) { return trace.NewWriter(w, h) },
	})
}

// openNative refuses, as setting errors, settings that the header of the file makes.
func openNative(inputs []*trace.Input, o Options) (trace.Trace, error) {
	const want = "nothing: the header of a native trace says it"
	var p setting.Problems
	p.Check(o.BlockSize == 0, "block_size", o.BlockSize, want)
	p.Check(o.IDs == "" || o.IDs == Auto, "ids", o.IDs, want)
	p.Check(o.IDsCover == "" || o.IDsCover == Auto, "ids_cover", o.IDsCover, want)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return trace.OpenNative(inputs)
}
