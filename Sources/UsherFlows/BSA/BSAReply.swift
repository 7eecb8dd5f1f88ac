package import JSONRPC
import UsherAPI
import UsherCore

/// The outcome of a call to BSA: rtCode 0 with the reply's `data`, or any other rtCode (provider
/// contract §5.2).
package typealias BSAReply = ProviderReply<JSONValue, RTRefusal, String>
package typealias BSAReplyError = ReplyError<RTRefusal>

/// A refusal by BSA: any rtCode but 0, and the message that came with it.
package struct RTRefusal: Sendable, Equatable {
  package let code: RTCode
  /// BSA's `rtMsg`, for users; nil if there is none or if it may contain personal data or a secret.
  package let message: String?

  package init(_ code: RTCode, message: String? = nil) {
    self.code = code
    self.message = message
  }

  func providerErrorCode(_ provider: ProviderName) -> ProviderErrorCode {
    copy(code.providerErrorCode(provider)) { $0.message = message }
  }

  /// Matches a refusal with this rtCode, whatever its message.
  static func ~= (code: RTCode, refusal: RTRefusal) -> Bool { refusal.code == code }
}

extension BSAReply {
  /// Reads the outcome of a call.
  ///
  /// - Parameter call: The call. A message that repeats one of its values is not shown.
  package init(_ outcome: CallOutcome, to call: BSACall) {
    self.init(outcome) { reply in
      // The HTTP status does not matter if the reply has an rtCode (provider contract §10, trap
      // 12).
      if let members = reply.jsonObject, let code = members["rtCode"]?.integerValue {
        guard code != 0 else { return .success(members["data"] ?? .null) }
        let message = members["rtMsg"]?.stringValue.flatMap { BSAMessage.shown($0, call.values) }
        return .refused(RTRefusal(RTCode(code), message: message))
      }
      return reply.status >= 500 || [408, 425, 429].contains(reply.status)
        // A request that is answered with 425 was not processed (RFC 8470 §5.2), and neither was
        // one with 429.
        ? .failed(ReplyError(reply, unprocessed: [425, 429]))
        : .unreadable("the provider's answer (HTTP \(reply.status)) has no rtCode")
    }
  }
}

extension JSONValue {
  /// The value as an integer if it is an integer, or a string that holds one.
  var looseInteger: Int64? { integerValue ?? stringValue.flatMap { Int64($0) } }

  /// The text as a secret if it can be sent in a header: 1 to 8192 bytes of visible ASCII; nil
  /// otherwise.
  var visibleSecret: Sealed<Secret>? { visibleText(upTo: 8192).map { Sealed(Secret($0)) } }
}

// Failures and problems that the BSA flows share.

extension Failure {
  /// The failure of a flow whose parameters cannot be sent to BSA.
  ///
  /// - Parameter message: A sentence for users.
  static func impossible(_ code: RTCode, _ message: String, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Impossible request", message: message, retryable: false,
      provider: code.providerErrorCode(provider))
  }

  /// The failure of a flow that BSA refused to continue. Its own message is the daemon's sentence
  /// about the rtCode; BSA's message is part of the provider's error code.
  static func refused(_ refusal: RTRefusal, _ provider: ProviderName) -> Failure {
    let code = refusal.code
    return Failure(
      reason: code.endedAs, title: "Refused by the provider",
      message: code.meaning, retryable: code.isRetryable || code.endedAs != .providerRejected,
      provider: refusal.providerErrorCode(provider))
  }

  /// The failure of a flow that cannot reach BSA. It has no rtCode, like the SDK's `onError`.
  static func unreachable(_ problem: BSAReplyError) -> Failure { .unreachable(problem.message) }

  /// The failure of a flow for which BSA may have sent a number. It is not retryable, because only
  /// the user may request another number.
  static func unknownSending(_ cause: String) -> Failure {
    .unreachable("\(cause); whether a number was sent is not known", retryable: false)
  }

  static func missingMember(_ member: String) -> Failure {
    .protocolError("the provider's answer has no usable \(member)")
  }

  static func otherApp(_ what: String, _ provider: ProviderName) -> Failure {
    .impossible(.clientKeyUnknown, "\(what) is not the configured one", provider)
  }

  /// The failure of a flow whose user did not authenticate locally.
  ///
  /// - Parameter message: A sentence for users.
  static func notIdentified(
    _ errorCode: LocalAuthErrorCode, _ message: String, _ provider: ProviderName
  ) -> Failure {
    var failure = Failure.localAuth(errorCode, message)
    failure.provider = ProviderErrorCode(
      name: provider, code: errorCode.rawValue, error: errorCode.rtCode.map { String($0.number) })
    return failure
  }
}

extension RTCode {
  /// The failure reason of a flow that ends with this rtCode.
  fileprivate var endedAs: Failure.Reason {
    switch self {
    case .certificateTimeout, .authTimeout: .expired
    case .authCancelled, .requestCancelled: .denied
    default: .providerRejected
    }
  }
}

extension LocalAuthErrorCode {
  /// The rtCode of the vendor's predecessor product that has the same meaning; nil if there is none
  /// (provider contract §5.5, inferred).
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
