package import JSONRPC
package import UsherCore

/// Handles what a provider reports about an account after the flow that created the account has
/// ended, for example a log-out or the verdict on an identity check.
///
/// The value is derived from the account's attributes, so the daemon can rebuild it after a
/// restart. It does no I/O: the daemon sends the requests, runs the timers and stores the results.
package protocol AccountFollowUp: Sendable {
  /// The key by which the daemon finds the account when the provider calls the daemon's callback
  /// listener: only a call with the same ``CallbackDialect/callKey(of:)`` is passed to `validate`.
  var callKey: String { get }

  /// Returns whether a call that the provider made to the daemon is about this account, and is
  /// authorized.
  ///
  /// - Parameter token: The account's access token, if it has one.
  func validate(_ callback: ProviderCallback, token: Secret?) -> CallbackVerdict

  /// Returns what a call by the provider changes in the account. The daemon passes only calls that
  /// `validate` has accepted.
  func changes(from callback: ProviderCallback, at now: Timestamp) -> FollowUpOutcome
}

/// A follow-up for which the daemon also polls the provider, and whose result it announces to the
/// subscribed clients.
package protocol AccountInquiry: AccountFollowUp {
  /// The `what` of the event of topic `kyc` that announces the account's new attributes to
  /// subscribed clients.
  var eventName: String { get }

  /// Whether the result is final, so that the daemon never polls again.
  var isFinished: Bool { get }

  /// Returns when to poll the provider next; nil if there is nothing more to ask.
  func nextInquiry(after now: Timestamp) -> Timestamp?

  func inquiry(of account: AccountID) -> any ProviderCall

  /// Returns what the outcome of a poll changes in the account.
  func changes(from outcome: CallOutcome, at now: Timestamp) -> FollowUpOutcome
}

/// What a provider's report changes in an account.
package enum FollowUpOutcome: Sendable, Equatable {
  case nothing
  /// The complete attributes of the account, with the new values.
  case attributes([String: JSONValue])
  /// The attributes stay, and the daemon stops polling for this account, because no answer can be
  /// expected.
  case stopPolling
  /// The provider has ended its grant: all tokens of the account are invalid.
  case grantRevoked(ProviderErrorCode)
}
