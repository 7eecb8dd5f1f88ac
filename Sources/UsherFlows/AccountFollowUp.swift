package import JSONRPC
package import UsherCore

/// A provider's later reports about an account, after the flow that created the account has ended.
///
/// The value is derived from the account's attributes, so it can be rebuilt after a restart. It
/// does no I/O: the daemon sends the requests, runs the timers and stores the results.
package protocol AccountFollowUp: Sendable {
  /// The value by which the daemon finds the account when the provider calls: only a call with the
  /// same ``CallbackDialect/callKey(of:)`` is passed to `validate`.
  var callKey: String { get }

  /// Returns whether a call by the provider is about this account, and is authorized.
  ///
  /// - Parameter token: The account's access token, if it has one.
  func validate(_ callback: ProviderCallback, token: Secret?) -> CallbackVerdict

  /// Returns the changes of the account because of a call that was judged to be about it.
  func changes(from callback: ProviderCallback, at now: Timestamp) -> FollowUpOutcome
}

/// A follow-up that the daemon also polls for, and whose result it publishes.
package protocol AccountInquiry: AccountFollowUp {
  /// The `what` of the event of topic `kyc` that announces the present attributes to subscribers.
  var eventName: String { get }

  /// Whether the result is final, so that polling ends for good.
  var isOver: Bool { get }

  /// Returns when to poll next; nil if there is nothing more to ask.
  func nextInquiry(after now: Timestamp) -> Timestamp?

  func inquiry(of account: AccountID) -> any ProviderCall

  /// Returns the changes of the account because of the outcome of a poll.
  func changes(from outcome: CallOutcome, at now: Timestamp) -> FollowUpOutcome
}

/// What changes in an account.
package enum FollowUpOutcome: Sendable, Equatable {
  case nothing
  /// The complete attributes of the account, with the new values.
  case attributes([String: JSONValue])
  /// Polling is pointless from now on.
  case stopPolling
  /// The provider has ended its grant: all tokens of the account are invalid.
  case grantRevoked(ProviderErrorCode)
}
