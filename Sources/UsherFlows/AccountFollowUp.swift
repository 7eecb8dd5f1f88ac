package import JSONRPC
package import UsherCore

/// What the provider may yet tell of an account after the flow that brought it has ended.
///
/// It is a reading of the account's attributes, so it survives what they survive. It does no I/O;
/// waiting and keeping is the daemon's.
package protocol AccountFollowUp: Sendable {
  /// What every call has as its ``CallbackDialect/callKey(of:)`` that may be judged to be its own: by
  /// this the account is found.
  var callKey: String { get }

  /// - Parameter token: The account's access token, where it has one.
  func judge(_ callback: ProviderCallback, token: Secret?) -> CallbackVerdict

  /// What a call that was judged to be its own taught.
  func learn(_ callback: ProviderCallback, at now: Timestamp) -> FollowUpOutcome
}

/// What is also asked for, and told of.
package protocol AccountInquiry: AccountFollowUp {
  /// What subscribers are told has happened when this is what has become known last: the `what` of an
  /// event of topic `kyc`.
  var news: String { get }

  /// Whether there is nothing more to ask, however long is asked.
  var isOver: Bool { get }

  /// When to ask next; nil where there is nothing more to ask.
  func nextInquiry(after now: Timestamp) -> Timestamp?

  func inquiry(of account: AccountID) -> any ProviderCall

  /// What an answer to the inquiry taught.
  func learn(_ outcome: CallOutcome, at now: Timestamp) -> FollowUpOutcome
}

/// What becomes of the account.
package enum FollowUpOutcome: Sendable, Equatable {
  case nothing
  /// All attributes, the new ones among them.
  case attributes([String: JSONValue])
  /// Asking leads nowhere any more.
  case hopeless
  /// What the provider had granted is over: no token of it is good any more.
  case grantIsOver(ProviderErrorCode)
}
