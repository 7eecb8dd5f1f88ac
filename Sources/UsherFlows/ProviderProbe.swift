/// A read-only request that shows whether a provider is usable as configured.
package struct ProviderProbe: Sendable {
  package var subject: String
  package var call: any ProviderCall
  /// Returns whether the provider is usable, and a sentence for users.
  package var evaluate: @Sendable (CallOutcome) -> (fine: Bool, message: String)
}
