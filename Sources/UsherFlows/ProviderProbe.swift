/// A read-only request that shows whether a provider is usable as configured.
package struct ProviderProbe: Sendable {
  package var subject: String
  package var call: any ProviderCall
  /// Returns whether the outcome of ``call`` shows a usable provider, and a sentence about it for
  /// users.
  package var evaluate: @Sendable (CallOutcome) -> (fine: Bool, message: String)
}
