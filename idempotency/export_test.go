package idempotency

// For tests.
var (
	ParseKey    = parseKey
	ProblemBase = problemBase
	Problems    = func() (kinds []string) {
		for _, p := range []problem{pKeyMissing, pKeyMalformed, pKeyLong, pBodyLarge, pBodyRead, pOwner, pInvalid, pOutstanding, pUnknown,
			pKeyReused, pExpired, pStub, pCanceled, pAttempts, pNotQualified, pStore, pNotFound, pInternal, pMethod} {
			kinds = append(kinds, p.kind)
		}
		return kinds
	}()
)
