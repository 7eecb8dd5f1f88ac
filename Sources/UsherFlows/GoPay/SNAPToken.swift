import JSONRPC
package import UsherConfig
package import UsherCore

/// The call `access-token/b2b`, which obtains the daemon's own token for SNAP calls (provider
/// contract §3.4).
package struct SNAPToken: ClientTokenCall {
  package var name: String { "b2b_token" }

  package func render(_ context: RenderContext<GoPaySettings>) throws(UsherError) -> HTTPRequest {
    let settings = context.provider.settings
    let name = settings.privateKeyCredential
    let key = try context.credential(named: name)
    let timestamp = SNAPSignature.timestamp(context.transition.now)
    let signature: String
    do throws(UnusableKey) {
      signature = try SNAPSignature.asymmetric(
        clientKey: settings.clientID, timestamp: timestamp, privateKey: key)
    } catch {
      throw UsherError(.internalError, "credential \(name ?? "") \(UnusableKey.sentence)")
    }
    return .json(
      .post, settings.paths.b2bToken.url(under: settings.snapBaseURL),
      ["grantType": "client_credentials"],
      [
        .init("X-CLIENT-KEY", public: settings.clientID),
        .init("X-TIMESTAMP", public: timestamp), .init("X-SIGNATURE", Secret(signature)),
      ], resultCode: .snap)
  }

  /// Reads the reply. GoPay sends `expiresIn` as a string of seconds (provider contract §10, trap
  /// 6); a number is accepted too.
  package func read(_ reply: HTTPReply) -> ClientTokenReply {
    let members = reply.jsonObject
    guard (200..<300).contains(reply.status),
      members?["responseCode"]?.stringValue?.hasPrefix("2") ?? true
    else { return .refused }
    let type = members?["tokenType"]?.stringValue ?? "Bearer"
    guard type.lowercased() == "bearer",
      let token = members?["accessToken"]?.visibleText(upTo: 65_536),
      let seconds = Self.seconds(members?["expiresIn"]), (1...86_400).contains(seconds)
    else { return .unreadable("the provider's client token cannot be read") }
    return .granted(Secret(token), lifetime: .seconds(seconds))
  }

  private static func seconds(_ value: JSONValue?) -> Int? {
    switch value {
    case .string(let text): text.utf8.allSatisfy(\.isDigit) ? Int(text) : nil
    case .integer(let number): Int(exactly: number)
    case nil, .null, .bool, .number, .array, .object: nil
    }
  }
}

extension HTTPRequest.ResultCode {
  /// `responseCode`, which begins with the HTTP status (contract §3.4).
  static let snap = Self(member: "responseCode", success: "2")
}

extension ProviderProbe {
  /// Creates the request that tests whether a GoPay provider is usable: it asks for a SNAP client
  /// token, which belongs to no user.
  ///
  /// - Returns: Nil if the daemon does not use SNAP.
  static func gopay(_ settings: GoPaySettings) -> ProviderProbe? {
    guard settings.exchange == .snap else { return nil }
    return ProviderProbe(subject: "client token", call: SNAPToken()) { outcome in
      switch outcome {
      case .reply(let reply):
        switch SNAPToken().read(reply) {
        case .granted: (true, "it was issued")
        case .refused: (false, reply.snapSentence)
        case .unreadable(let message): (false, message)
        }
      case .unreachable(let message, _), .unreadable(let message), .noToken(let message):
        (false, message)
      }
    }
  }
}

extension HTTPReply {
  fileprivate var snapSentence: String {
    let code = jsonObject?["responseCode"]?.gopayCode.map { ", responseCode \($0)" } ?? ""
    return "it answers HTTP \(status)\(code)"
  }
}
