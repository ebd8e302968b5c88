// Package predict makes the models that predict hardware from settings.
//
// It registers them with package latency: roofline, table and fitted. [Setup] turns
// the keys of a configuration (a GPU and a language model by name or file, formats,
// layout, engine) into what package roofline needs; [Memory] is the KV blocks that
// fit. Import it for its models to exist.
//
// It reads files that settings name and knows no runs.
package predict
