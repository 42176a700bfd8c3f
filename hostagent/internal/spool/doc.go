// Package spool keeps reports on disk until the API has them.
//
// It is a queue of records in append-only segment files, oldest first, with one
// owner (a lock file keeps a second one out). Each record carries a magic word, a
// length, a number and a CRC, so a write that was torn by SIGKILL or power loss
// costs that record alone: reading goes on at the next whole one, and the bytes in
// between are counted.
//
// What is promised: a record that Append returned without error survives the
// death of the process; it survives the death of the machine after Sync. It is
// handed out again and again, in order, until Ack, so it arrives at least once;
// its sequence number, which rises within a boot and is never given twice, lets the
// receiver make that exactly once. When bytes or age run out, or the disk is full,
// the oldest segment goes and its records are counted: nothing is lost silently.
// The segment being written is never dropped.
package spool
