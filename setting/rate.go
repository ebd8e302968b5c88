package setting

import (
	"encoding/json"
	"math"
)

// Rate is a number of something per time that may be infinite, which JSON has no
// number for.
type Rate float64

// MarshalJSON implements [json.Marshaler]: a number, or ".inf" as YAML writes it.
func (r Rate) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(r), 1) {
		return []byte(`".inf"`), nil
	}
	return json.Marshal(float64(r))
}
