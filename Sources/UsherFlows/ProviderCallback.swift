package import JSONRPC
package import UsherConfig
package import UsherCore

/// A call that a provider made to us, as far as it can be read without knowing whose it is.
package struct ProviderCallback: Sendable, Equatable {
  /// What the flow it is about was started with; nil where it is about none.
  package var requestID: String?
  /// What the caller shows.
  package var authorization: Secret
  /// Whether that is the value agreed on for all of the provider's calls.
  package var isVouchedFor: Bool
  package var members: [String: JSONValue]

  package init(
    requestID: String?, authorization: Secret, isVouchedFor: Bool = false,
    members: [String: JSONValue]
  ) {
    self.requestID = requestID
    self.authorization = authorization
    self.isVouchedFor = isVouchedFor
    self.members = members
  }
}

/// Whether a call is for one flow or account.
package enum CallbackVerdict: Sendable, Equatable {
  /// It names another, or this one takes none.
  case notMine
  /// It names this one, and does not show what it must.
  case unauthorized
  /// It contradicts what is known: another submission.
  case conflict
  case mine
}

/// How a provider's calls to us look in HTTP.
package protocol CallbackDialect: Sendable {
  var address: LoopbackAddress { get }
  var path: String { get }
  var method: HTTPRequest.Method { get }
  /// The name of the value that may stand for any of its users' own.
  var credentialName: String? { get }

  /// - Throws: What is wrong with it; it is answered by ``answer(_:)``.
  func read(
    authorization: Secret?, body: [UInt8]
  ) throws(CallbackRefusal) -> ProviderCallback

  /// The ``AccountFollowUp/callKey`` of the accounts that a call may be about.
  func callKey(of callback: ProviderCallback) -> String

  func answer(_ outcome: CallbackOutcome) -> HTTPReply
}

/// Why a call cannot be read; a sentence that has nothing secret of it.
package struct CallbackRefusal: Error, Equatable {
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// How a call of a provider's is answered.
package enum CallbackOutcome: Sendable, Equatable {
  /// Taken, or taken before, or of no interest any more.
  case taken
  case unreadable(CallbackRefusal)
  /// It shows nothing, or something else; also where nobody is meant.
  case unauthorized
  /// Nobody is meant, and who calls may know it.
  case unknown
  case conflict
  case otherPath
  case otherMethod
  case tooLarge
  /// The store does not take it: send it again.
  case unavailable
}
