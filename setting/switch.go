package setting

import "fmt"

// Switch is a setting that is on, off, or left to the program.
type Switch string

const (
	Auto Switch = "auto"
	On   Switch = "true"
	Off  Switch = "false"
)

// Is is the setting, or what the program would choose.
func (s Switch) Is(auto bool) bool {
	if s == Auto {
		return auto
	}
	return s == On
}

// MarshalJSON implements [json.Marshaler]: true, false or "auto".
func (s Switch) MarshalJSON() ([]byte, error) {
	switch s {
	case On, Off:
		return []byte(s), nil
	case Auto:
		return []byte(`"auto"`), nil
	}
	return nil, fmt.Errorf("setting: a switch cannot be %q", string(s))
}
