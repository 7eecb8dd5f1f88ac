public import FoundationEssentials
import JSONRPC
import UsherClient

extension Wallet {
  /// A call to the wallet API. The daemon makes it with the customer's access token.
  public struct OperationRequest: Sendable, Equatable {
    /// GET, POST, PUT, PATCH or DELETE.
    public var method: String
    /// The path below the provider's base URL. It begins with a slash and may have a query.
    public var path: String
    /// The call's body, a JSON object; nil if it has none.
    public var body: Data?
    /// The event that the customer has approved for this operation (SDK documentation, "Handle SCA
    /// Challenges", step 3); nil for the first attempt.
    public var scaDetails: SCADetails?

    public init(
      method: String, path: String, body: Data? = nil, scaDetails: SCADetails? = nil
    ) {
      self.method = method
      self.path = path
      self.body = body
      self.scaDetails = scaDetails
    }
  }

  /// The event of Strong Customer Authentication that belongs to a wallet operation.
  public struct SCADetails: Sendable, Equatable {
    public var eventID: String
    public var walletOperationID: String
    /// The place in which the wallet demanded the approval; nil if the program does not know it.
    var form: String?

    public init(eventID: String, walletOperationID: String) {
      self.eventID = eventID
      self.walletOperationID = walletOperationID
    }
  }

  public enum OperationResponse: Sendable, Equatable {
    /// The wallet's reply, whatever its status. The body is JSON; nil if there is none.
    case completed(status: Int, body: Data?)
    /// The operation was not performed, because the customer must approve it first: send a
    /// challenge for one of the verifications, submit the customer's answer, and repeat the
    /// operation with the same `scaDetails`. The list has the verifications that this library can
    /// name; nil means any agreed verification, because the wallet listed none.
    case scaRequired(
      scaDetails: SCADetails, availableVerifications: [SCAAuthenticationEventAttemptVerification]?)
  }

  /// Makes a call to the wallet API.
  ///
  /// The daemon's configuration must allow the call (`operations`). A call that changes something
  /// is never repeated if it may have been performed: then this throws
  /// ``WalletError/unavailable(_:)`` and says so. Cancelling the task does not stop an operation
  /// that the daemon has begun.
  ///
  /// - Throws: ``WalletError/invalidRequest(_:)`` if the body is not a JSON object;
  ///   ``WalletError/notPermitted(_:)`` if the configuration does not allow the call.
  public func perform(
    _ request: OperationRequest
  ) async throws(WalletError) -> OperationResponse {
    try await translating(to: WalletError.self) {
      let session = try await provider.start(Self.operation, try request.params(account))
      let flow = try await session.waitUntil(\.isSettled).requireNoFailure()
      guard let result = flow.result, let response = OperationResponse(result) else {
        throw KitError(.unexpected, "the operation has ended without a reply")
      }
      return response
    }
  }

  /// Calls ``perform(_:)`` and passes its result to `completion`.
  public func perform(
    _ request: OperationRequest,
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<OperationResponse, WalletError>) -> Void
  ) {
    callBack(completion) { () async throws(WalletError) in try await self.perform(request) }
  }
}

extension Wallet.OperationRequest {
  fileprivate func params(_ account: Wallet.Account?) throws -> JSONValue {
    var members: [String: JSONValue?] = [
      "method": .string(method), "path": .string(path), "approval": "caller",
      "account": .text(account?.id), "scaDetails": scaDetails?.json,
    ]
    if let body {
      guard let json = try? JSONValue(parsing: Array(body)), case .object = json else {
        throw KitError(.invalidRequest, "the body is not a JSON object")
      }
      members["body"] = json
    }
    return .params(members)
  }
}

extension Wallet.SCADetails {
  fileprivate var json: JSONValue {
    .params([
      "eventId": .string(eventID), "walletOperationId": .string(walletOperationID),
      "form": .text(form),
    ])
  }

  fileprivate init?(_ json: JSONValue) {
    guard let event = json["eventId"]?.stringValue,
      let operation = json["walletOperationId"]?.stringValue
    else { return nil }
    self.init(eventID: event, walletOperationID: operation)
    form = json["form"]?.stringValue
  }
}

extension Wallet.OperationResponse {
  fileprivate init?(_ result: JSONValue) {
    if let details = result["scaDetails"] {
      guard let scaDetails = Wallet.SCADetails(details) else { return nil }
      let listed = details["availableVerifications"]?.arrayValue ?? []
      let named = listed.compactMap { Wallet.SCAAuthenticationEventAttemptVerification($0) }
      self = .scaRequired(
        scaDetails: scaDetails, availableVerifications: listed.isEmpty ? nil : named)
      return
    }
    guard let status = result["status"]?.integerValue else { return nil }
    let body = result["body"].flatMap { $0.isNull ? nil : Data($0.encoded()) }
    self = .completed(status: Int(status), body: body)
  }
}

extension Wallet.SCAAuthenticationEventAttemptVerification {
  /// Reads a verification that the wallet offers; nil if this SDK has no name for it.
  fileprivate init?(_ json: JSONValue) {
    guard
      let method = json["method"]?.stringValue.flatMap({
        Wallet.SCAAuthenticationEventAttemptVerificationMethod(rawValue: $0)
      })
    else { return nil }
    let channel = json["channel"]?.stringValue
    self.init(
      method: method,
      channel: channel.flatMap {
        Wallet.SCAAuthenticationEventAttemptVerificationChannel(rawValue: $0)
      })
    guard channel == nil || self.channel != nil else { return nil }
  }
}
