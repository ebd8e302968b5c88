package predict

import (
	"os"
	"slices"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/profile"
	"github.com/reprise-sim/reprise/latency/roofline"
	"github.com/reprise-sim/reprise/setting"
)

func init() {
	latency.Register("table", latency.Kind{
		About: "from measurements: a folder of operators (what is missing the roofline says) or a file of whole passes",
		Keys:  append([]string{"path", "outside"}, hardwareKeys...),
		Check: checkTable,
		New:   newTable,
	})
}

// checkTable notes what is wrong with the settings of model table.
func checkTable(s latency.Settings, p *setting.Problems) {
	p.Check(s.Path != "", "path", "not set", "a folder of measured operators, or a file of measured passes")
	p.Check((s.GPU == "") == (s.ModelName == ""), "gpu", s.GPU, "gpu and model_name together, or neither")
	p.Check(slices.Contains([]string{"", "analytic", "clamp", "error"}, s.Outside), "outside", s.Outside, "one of analytic, clamp, error")
	p.Check(s.Outside != "analytic" || Hardware(s), "outside", s.Outside, "gpu and model_name for the roofline to know")
	checkOptions(s, p)
}

// newTable makes a model of measured operators or of measured passes.
func newTable(s latency.Settings, d latency.Deployment) (latency.Model, error) {
	info, err := os.Stat(s.Path)
	if err != nil {
		return nil, wrong("path", s.Path, err)
	}
	if !info.IsDir() {
		return newPasses(s, d)
	}
	if !Hardware(s) {
		return nil, &setting.Error{Field: "gpu", Value: "not set", Want: "gpu and model_name: a folder of operators is of one language model on one GPU"}
	}
	setup, err := Setup(s, d)
	if err != nil {
		return nil, err
	}
	operators, err := profile.ReadOperators(s.Path, setup.Deployment, &setup.GPU)
	if err != nil {
		return nil, wrong("path", s.Path, err)
	}
	setup.Measured = operators
	setup.Factors, setup.Error = roofline.Unit(), ""
	return roofline.New(setup)
}
