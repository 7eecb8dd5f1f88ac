package import JSONRPC
import UsherAPI
import UsherCore

/// What became of a call to BSA: its envelope (contract §5.2).
package enum BSAReply: Sendable, Equatable {
  /// rtCode 0, with what it has to say.
  case said(JSONValue)
  /// Any other.
  case refused(RTCode)
  /// No envelope came.
  case failed(BSAReplyError)
  /// Something that is no answer; a sentence for people.
  case unreadable(String)

  package init(_ outcome: CallOutcome) {
    switch outcome {
    case .reply(let reply): self.init(reply)
    case .unreachable(let message, let sent):
      self = .failed(BSAReplyError(message: message, mayBeDone: sent))
    case .unreadable(let message), .noToken(let message): self = .unreadable(message)
    }
  }

  private init(_ reply: HTTPReply) {
    if let members = reply.jsonObject, let code = members["rtCode"]?.integerValue {
      // Whatever the status is (contract §10, trap 12).
      self = code == 0 ? .said(members["data"] ?? .null) : .refused(RTCode(code))
    } else if reply.status >= 500 || reply.status == 429 || reply.status == 408 {
      self = .failed(
        BSAReplyError(
          message: "the provider answers HTTP \(reply.status)", mayBeDone: reply.status != 429,
          retryAfter: reply.retryAfter))
    } else {
      self = .unreadable("the provider's answer (HTTP \(reply.status)) has no rtCode")
    }
  }
}

/// Why the provider has not decided.
package struct BSAReplyError: Sendable, Equatable {
  /// A sentence for people.
  package var message: String
  /// Whether the provider may have done all the same what it was asked for.
  package var mayBeDone: Bool
  package var retryAfter: Duration?
}

extension JSONValue {
  /// A number, or one that is written as text.
  var looseInteger: Int64? { integerValue ?? stringValue.flatMap { Int64($0) } }

  /// A text that is a secret: visible ASCII of at most 8 KiB; nil for anything else.
  var visibleSecret: Sealed<Secret>? {
    guard let text = stringValue, (1...8192).contains(text.utf8.count),
      text.utf8.allSatisfy(\.isVisible)
    else { return nil }
    return Sealed(Secret(text))
  }
}

// The ends and problems that the flows have in common.

extension Failure {
  /// What cannot be asked of the provider at all.
  ///
  /// - Parameter message: A sentence for people.
  static func impossible(
    _ code: RTCode, _ message: String, _ provider: ProviderName
  ) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Impossible request", message: message, retryable: false,
      provider: code.word(provider))
  }

  static func refused(_ code: RTCode, _ provider: ProviderName) -> Failure {
    Failure(
      reason: code.endedAs, title: "Refused by the provider",
      message: code.meaning, retryable: code.isRetryable || code.endedAs != .providerRejected,
      provider: code.word(provider))
  }

  /// The SDK's onError: it has no code.
  static func unreachable(_ problem: BSAReplyError) -> Failure { .unreachable(problem.message) }

  /// A number may have gone out: only a person may ask for another.
  static func unknownSending(_ cause: String) -> Failure {
    var failure = Failure.unreachable("\(cause); whether a number was sent is not known")
    failure.retryable = false
    return failure
  }

  static func lacking(_ member: String) -> Failure {
    .protocolError("the provider's answer has no \(member) that can be used")
  }

  static func otherApp(_ what: String, _ provider: ProviderName) -> Failure {
    .impossible(.clientKeyUnknown, "\(what) is not the configured one", provider)
  }

  /// - Parameter message: A sentence for people.
  static func notIdentified(
    _ word: LocalAuthWord, _ message: String, _ provider: ProviderName
  ) -> Failure {
    var failure = Failure.localAuth(word, message)
    failure.provider = ProviderErrorCode(
      name: provider, code: word.rawValue, error: word.rtCode.map { String($0.number) })
    return failure
  }
}

extension RTCode {
  /// As what it ends a flow.
  fileprivate var endedAs: Failure.Reason {
    switch self {
    case .certificateTimeout, .authTimeout: .expired
    case .authCancelled, .requestCancelled: .denied
    default: .providerRejected
    }
  }
}

extension LocalAuthWord {
  /// The code of the predecessor's that means it (contract §5.5, inferred).
  var rtCode: RTCode? {
    switch self {
    case .domainStateChanged: RTCode(9006)
    case .biometricNotAvailable: RTCode(9001)
    case .biometricLockOut: RTCode(9002)
    case .biometricNotSupportHardware: RTCode(9003)
    case .biometricNotEnrolledDevice: RTCode(9004)
    case .authFailed: RTCode(9009)
    case .passcodeNotEnrolledDevice, .userCancel, .userFallback: nil
    }
  }
}
