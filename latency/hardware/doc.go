// Package hardware is the catalogue of GPUs: what a GPU can do at most.
//
// A [GPU] holds peaks and sizes as the vendors and drivers state them, each row of
// the embedded gpus.csv with its source. [Find] looks one up by name, [ReadCSV]
// reads a user's own. How much of a peak a kernel reaches is not known here
// (package kernel), nor what is computed (package work).
package hardware
