public import UsherCore

/// What the calls of a method are about, for the policy and the audit log. A method states it as
/// ``Method/subject``.
///
/// Not `M: Method`: the runtime would look up that conformance once per method at start, among all
/// conformances of the program.
public enum Subject<M>: Sendable {
  /// The policy decides about the method alone.
  case method
  /// One provider, or all of them if the call names none.
  case provider(@Sendable (M) -> ProviderName?)
  /// The flow that the call starts, with its provider and its account.
  case start(@Sendable (M) -> FlowStart)
  /// A flow that the caller has started.
  case flow(@Sendable (M) -> FlowID)
  /// An account given by its id, or all accounts of a provider.
  case account(@Sendable (M) -> (AccountID?, ProviderName?))
  /// The one account that the method acts on. The call names it by its id, or as the caller's only
  /// account at a provider.
  case oneAccount(@Sendable (M) -> (AccountID?, ProviderName?))
  /// The one account that the method acts on, as in ``oneAccount(_:)``, but chosen only among
  /// accounts that have one-time codes.
  case oneAccountWithCodes(@Sendable (M) -> (AccountID?, ProviderName?))
  /// A token of one account, with the requested scope, nil for the whole granted scope; the
  /// requested audience, nil if the call names none; and the kind of the token, nil for an access
  /// token.
  case token(
    @Sendable (M) -> (AccountID?, ProviderName?), scope: @Sendable (M) -> String?,
    audience: @Sendable (M) -> String?, kind: @Sendable (M) -> String?)
  /// What a tool asks for: the kind of its contract, and the name. The policy decides by these
  /// alone.
  case target(@Sendable (M) -> (kind: String, name: String))
  /// The token of the account that a target names for what a tool asks for.
  case tokenForTarget(@Sendable (M) -> (kind: String, name: String))
  /// Everything that is stored for the user with a uid.
  case owner(@Sendable (M) -> UInt32)
}
