// Package browser looks at the page as a person does: a real Chromium, driven by
// Playwright, clicks through it against a live local run. Pictures are kept where
// BULKHEAD_PICTURES says, else thrown away.
package browser
