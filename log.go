package onejob

import (
	"context"
	"encoding/hex"
	"log/slog"
)

// logDropped writes the one line for a result that was thrown away. Each may
// mean a refund.
func (s *Jobs) logDropped(ctx context.Context, op, message string, rec Record, p CompleteParams) {
	attrs := []slog.Attr{
		slog.String("op", op),
		slog.String("job", string(rec.Job.ID)),
		slog.String("status", string(rec.Job.Status())),
		slog.String("attempt", string(p.ID)),
		slog.Int("size", len(p.Result)),
		slog.String("sha256", hex.EncodeToString(p.Digest[:])),
	}
	if rec.Attempt != nil {
		attrs = append(attrs,
			slog.String("state", string(rec.Attempt.State)),
			slog.Duration("age", rec.Now.Sub(rec.Attempt.StartedAt)))
	}
	if rec.Job.State == JobCompleted && rec.Job.Attempt != nil {
		attrs = append(attrs, slog.String("winner", string(rec.Job.Attempt.ID)))
	}
	if !rec.Job.EndedAt.IsZero() {
		attrs = append(attrs, slog.Duration("behind", rec.Now.Sub(rec.Job.EndedAt)))
	}
	s.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelWarn, message, attrs...)
}
