package import JSONRPC
package import UsherConfig
package import UsherCore

/// A call that a provider made to the daemon, read without knowledge of the flow or account it is
/// for.
package struct ProviderCallback: Sendable, Equatable {
  /// The request id of the flow that the call is about; nil if it is about none.
  package var requestID: String?
  /// The credential that the sender presents.
  package var authorization: Secret
  /// Whether `authorization` is the value configured for all calls of the provider.
  package var isVouchedFor = false
  package var members: [String: JSONValue]
}

/// Whether a call is for a particular flow or account.
package enum CallbackVerdict: Sendable, Equatable {
  /// The call names another, or this one accepts no calls.
  case noMatch
  /// The call names this one, but lacks the right credential.
  case unauthorized
  /// The call contradicts the stored state: it is about another submission.
  case conflict
  case match
}

/// How the provider's calls to the daemon look in HTTP.
package protocol CallbackDialect: Sendable {
  var address: LoopbackAddress { get }
  var path: String { get }
  var method: HTTPRequest.Method { get }
  /// The name of the credential that a call may present instead of a user's own token; nil if there
  /// is none.
  var credentialName: String? { get }

  /// - Throws: What is wrong with the call; ``answer(_:)`` turns it into a reply.
  func read(authorization: Secret?, body: [UInt8]) throws(CallbackRefusal) -> ProviderCallback

  /// Returns the ``AccountFollowUp/callKey`` of the accounts that the call may be about.
  func callKey(of callback: ProviderCallback) -> String

  func answer(_ outcome: CallbackOutcome) -> HTTPReply
}

/// Why a call cannot be read: a sentence without secrets of the call.
package struct CallbackRefusal: Error, Equatable {
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// The daemon's handling of a call, which decides the reply to the provider.
package enum CallbackOutcome: Sendable, Equatable {
  /// Accepted now or before, or no longer relevant.
  case accepted
  case unreadable(CallbackRefusal)
  /// The credential is missing or wrong. Also used if no flow or account matches, so that an
  /// unauthorized sender cannot tell the difference.
  case unauthorized
  /// No flow or account matches, and the sender is authorized to know that.
  case unknown
  case conflict
  case otherPath
  case otherMethod
  case tooLarge
  /// The call could not be stored: the provider should send it again.
  case unavailable
}
