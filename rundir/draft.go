package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/reprise-sim/reprise/metrics"
)

// ErrAborted is what a draft answers after Abort.
var ErrAborted = errors.New("the run was aborted")

// ErrHoldsRun is wrapped by the refusal of a folder that Create would overwrite if
// it were told to.
var ErrHoldsRun = errors.New("holds the files of a run")

// Draft is the folder of a run that goes on. Its files get their names when Close
// has written all of them; Abort leaves none. One goroutine writes, any other may
// call Abort.
type Draft struct {
	dir  string
	made []string      // folders that did not exist, the innermost first
	old  []os.FileInfo // files of an earlier run to be replaced

	mu     sync.Mutex
	files  []*File
	flush  []func() // complete the text of files
	closed bool
}

// Create starts a draft in a folder, which is made if it does not exist. A folder
// that is not empty is refused, unless overwrite is set and everything in it is a
// file of a run; that run stays until the new one is complete.
func Create(dir string, overwrite bool) (*Draft, error) {
	d := &Draft{dir: dir}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := d.makeFolders(); err != nil {
			d.removeFolders()
			return nil, err
		}
		return d, nil
	case err != nil:
		return nil, err
	}
	var present, foreign []string
	for _, e := range entries {
		present = append(present, e.Name())
		if e.IsDir() || !isRunFile(e.Name()) {
			foreign = append(foreign, e.Name())
		}
		if info, err := e.Info(); err == nil { // else it has gone meanwhile
			d.old = append(d.old, info)
		}
	}
	switch {
	case len(foreign) > 0:
		return nil, fmt.Errorf("%s: holds %s: want a new folder, an empty one or that of a run", dir, list(foreign))
	case len(present) > 0 && !overwrite:
		return nil, fmt.Errorf("%s: %w (%s): want a new folder, or leave to overwrite it", dir, ErrHoldsRun, list(present))
	}
	return d, nil
}

// makeFolders makes the folder and those above it that do not exist.
func (d *Draft) makeFolders() error {
	var missing []string
	for at := filepath.Clean(d.dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		err := os.Mkdir(missing[i], 0o777)
		if err == nil {
			d.made = slices.Insert(d.made, 0, missing[i])
			continue
		}
		if !errors.Is(err, os.ErrExist) {
			return err
		}
		if _, err := os.Stat(missing[i]); err != nil { // else somebody made it meanwhile
			return fmt.Errorf("%s: a link to nothing: want a folder", missing[i])
		}
	}
	return nil
}

// removeFolders removes the folders that were made, up to the first in which
// somebody else has put something.
func (d *Draft) removeFolders() {
	for _, dir := range d.made {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// list is names, at most three of them.
func list(names []string) string {
	if more := len(names) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), more)
	}
	return strings.Join(names, ", ")
}

// File starts a file of the run.
func (d *Draft) File(name string) (*File, error) {
	if !isRunFile(name) {
		return nil, fmt.Errorf("%s: want one of %q", name, fileNames)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrAborted
	}
	f, err := newFile(d.dir, name)
	if err != nil {
		return nil, err
	}
	d.files = append(d.files, f)
	return f, nil
}

// Close completes all files, adds run.json and summary.json, and only then gives
// them their names. After an error there are no temporary files, and an earlier
// run in the folder is untouched unless the error came from the file system while
// names were changed; then there is no run.json.
func (d *Draft) Close(info *Info, s *metrics.Summary) error {
	info.Schema, info.Version = InfoSchema, InfoVersion
	err := errors.Join(d.writeJSON(SummaryFile, s), d.writeJSON(InfoFile, info))
	for _, flush := range d.flush {
		flush()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrAborted
	}
	d.closed = true
	for _, f := range d.files {
		err = errors.Join(err, f.close())
	}
	if err == nil {
		err = d.undisturbed()
	}
	if err == nil {
		err = d.publish()
	}
	if err != nil {
		return errors.Join(err, d.remove())
	}
	return nil
}

// Abort removes what has been written. It may be called at any time, by any
// goroutine; after Close it does nothing.
func (d *Draft) Abort() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	for _, f := range d.files {
		f.file.Close()
	}
	return d.remove()
}

// writeJSON writes a small file at once.
func (d *Draft) writeJSON(name string, v any) error {
	f, err := d.File(name)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	_, err = f.Write(append(text, '\n'))
	return err
}

// undisturbed makes sure that no other run has put its files into the folder since
// Create looked: those are not to be replaced, nor mixed with this run's.
func (d *Draft) undisturbed() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		known := func(old os.FileInfo) bool { return os.SameFile(old, info) }
		if err == nil && !isTemporary(e.Name()) && !slices.ContainsFunc(d.old, known) {
			return fmt.Errorf("%s: another run has written %s meanwhile: want a folder for each", d.dir, e.Name())
		}
	}
	return nil
}

// publish gives the files their names. run.json goes first and comes last: a
// folder with one holds a complete run.
func (d *Draft) publish() error {
	info := filepath.Join(d.dir, InfoFile)
	if err := os.Remove(info); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	written := map[string]bool{InfoFile: true}
	var last *File
	for _, f := range d.files {
		if f.path == info {
			last = f
			continue
		}
		if err := f.rename(); err != nil {
			return err
		}
		written[filepath.Base(f.path)] = true
	}
	for _, old := range d.old {
		if !written[old.Name()] {
			if err := os.Remove(filepath.Join(d.dir, old.Name())); err != nil {
				return err
			}
		}
	}
	return last.rename()
}

// remove removes temporary files, and the folders that were made for them.
func (d *Draft) remove() error {
	var err error
	for _, f := range d.files {
		if f.temporary != "" {
			err = errors.Join(err, os.Remove(f.temporary))
		}
	}
	d.removeFolders()
	return err
}
