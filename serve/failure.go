package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/reprise-sim/reprise/metrics"
)

// failure is an answer that is none, in the shape that vLLM gives it.
type failure struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`

	// late: a stream has begun when vLLM finds out, so it comes inside of it.
	late bool
}

func (f *failure) Error() string { return f.Message }

// refuse is a request that is wrong in a field; "" is the request as a whole.
func refuse(param, format string, args ...any) *failure {
	f := &failure{Message: fmt.Sprintf(format, args...), Type: "BadRequestError", Code: http.StatusBadRequest}
	if param != "" {
		f.Param = &param
	}
	return f
}

// later makes a refusal one that vLLM finds only when a stream has begun.
func (f *failure) later() *failure {
	f.late = true
	return f
}

// unknownModel is the answer to a model that is not served.
func unknownModel(name string) *failure {
	param := "model"
	return &failure{Message: fmt.Sprintf("The model `%s` does not exist.", name), Type: "NotFoundError", Param: &param, Code: http.StatusNotFound}
}

// outOfService is the answer of a cluster that has stopped.
func outOfService() *failure {
	return &failure{Message: ErrStopped.Error(), Type: "ServiceUnavailableError", Code: http.StatusServiceUnavailable, late: true}
}

// ended is why a call brings no answer any more, nil if it does.
func ended(s *State) *failure {
	switch s.Status {
	case metrics.Open, metrics.Completed:
		return nil
	case metrics.Unfinished:
		return outOfService()
	case metrics.Rejected:
		return refuse("", "The simulated cluster cannot serve the request: %s", s.Reason).later()
	}
	return &failure{
		Message: strings.TrimSuffix(fmt.Sprintf("The request %v: %s", s.Status, s.Reason), ": "),
		Type:    "InternalServerError", Code: http.StatusInternalServerError, late: true,
	}
}

// body is the failure as JSON.
func (f *failure) body() []byte {
	text, err := json.Marshal(map[string]*failure{"error": f})
	if err != nil {
		panic(err) // strings and numbers
	}
	return text
}

// answer sends the failure as an answer of its own.
func (f *failure) answer(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Code)
	w.Write(f.body())
}
