/// The state of the OpenID provider: transactions, devices, codes, grants and tokens, as one value.
///
/// It reads no clock: callers pass the time. Every table is bounded.
package struct Ledger: Sendable {
  package var settings = OIDCBackendSettings() {
    didSet { tokens.terms = settings.terms }
  }
  package var tokens: TokenLedger
  let mint: TokenMint
  var transactions = ExpiringTable<Transaction>()
  var devices = ExpiringTable<Device>()

  package init(mint: TokenMint = TokenMint()) {
    self.mint = mint
    tokens = TokenLedger(OIDCBackendSettings().terms, mint: mint)
  }
}
