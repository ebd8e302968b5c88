package formats

import (
	"fmt"
	"io"

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

// openNative refuses settings that the header of the file makes.
func openNative(inputs []*trace.Input, o Options) (trace.Trace, error) {
	for _, s := range []struct {
		key string
		set bool
	}{
		{"block_size", o.BlockSize != 0},
		{"ids", o.IDs != "" && o.IDs != Auto},
		{"ids_cover", o.IDsCover != "" && o.IDsCover != Auto},
	} {
		if s.set {
			return nil, fmt.Errorf("%s cannot apply: the header of a native trace says it", s.key)
		}
	}
	return trace.OpenNative(inputs)
}
