package config

import (
	"github.com/reprise-sim/reprise/config/keys"
	"github.com/reprise-sim/reprise/synth"
)

// Short is a flag that stands for a key=value argument.
type Short struct {
	Flag string // the flag and its value, as messages name it
	Set  string // key=value
}

// LoadSpec reads the description of a synthetic trace: defaults, a YAML file (""
// if there is none), short flags, then key=value arguments. The error lists all that
// is wrong.
func LoadSpec(file string, short []Short, set []string) (synth.Spec, error) {
	spec := synth.Defaults()
	r := keys.Read(&spec, nil)
	if file != "" {
		text, err := readFile(file)
		if err != nil {
			return spec, err
		}
		d, err := keys.Parse(file, text)
		if err != nil {
			return spec, err
		}
		r.Document(d)
	}
	for _, s := range short {
		r.SetBy(s.Flag, s.Set)
	}
	for _, argument := range set {
		r.Set(argument)
	}
	r.Check(spec.Validate())
	return spec, r.Err()
}
