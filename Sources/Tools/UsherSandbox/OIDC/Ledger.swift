/// The state of a provider with sign-in pages: transactions, devices, codes, grants and tokens, as
/// one value.
///
/// It reads no clock: callers pass the time. Every table is bounded.
package struct Ledger: Sendable {
  package var deviceTerms = DeviceTerms()
  package var tokens: TokenLedger
  let tokenGenerator: TokenGenerator
  var transactions = ExpiringTable<Transaction>()
  var devices = ExpiringTable<Device>()
  /// The pushed authorization requests, by their references.
  var pushedRequests = ExpiringTable<Form>()
  /// The ids of the client assertions that were used, so that none is accepted twice.
  var usedAssertions: Set<String> = []
  /// The ids of the DPoP proofs that were used, so that none is accepted twice.
  var usedProofs: Set<String> = []
  /// The hashes of the certificates to which tokens are bound, by token.
  var boundTokens = ExpiringTable<String>()

  package init(
    tokenGenerator: TokenGenerator = TokenGenerator(),
    terms: TokenTerms = OIDCBackendSettings().terms
  ) {
    self.tokenGenerator = tokenGenerator
    tokens = TokenLedger(terms, tokenGenerator: tokenGenerator)
  }
}
