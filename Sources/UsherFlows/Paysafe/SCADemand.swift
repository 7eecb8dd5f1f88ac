import FoundationEssentials
package import JSONRPC
package import UsherCore

/// A wallet's demand for Strong Customer Authentication (contract §2.5).
package struct SCADemand: Codable, Sendable, Equatable {
  package var eventID: String
  package var walletOperationID: String
  /// Empty means any agreed method.
  package var available: [Offer]
  package var expiresAt: Timestamp?
  package var form: PaysafeCall.Approval.Form

  /// A verification that may be used, with where it goes.
  package struct Offer: Codable, Sendable, Equatable {
    package var verification: PaysafeCall.Verification
    /// Masked by the provider.
    package var target: String?

    package init(_ verification: PaysafeCall.Verification, target: String? = nil) {
      self.verification = verification
      self.target = target
    }
  }

  /// What a reply to a wallet operation turned out to be.
  package enum Reading: Sendable, Equatable {
    case demand(SCADemand)
    /// It asks for SCA, but not so that it can be done; a sentence.
    case unreadable(String)
  }

  /// Nil where the reply asks for nothing: 401 with the scheme SCA, or a member `scaDetails`.
  package static func wanted(by reply: HTTPReply) -> Reading? {
    if reply.status == 401, let challenge = reply.headers["www-authenticate"],
      let details = SCAChallengeHeader.details(in: challenge)
    {
      guard let members = details.flatMap({ try? JSONValue(parsing: $0) })?["scaDetails"] else {
        return .unreadable("the demand for SCA in the header cannot be read")
      }
      return read(members, .header)
    }
    guard (200..<300).contains(reply.status) || (400..<500).contains(reply.status),
      let details = reply.jsonObject?["scaDetails"], details != .null
    else { return nil }
    return read(details, .body)
  }

  private static func read(_ details: JSONValue, _ form: PaysafeCall.Approval.Form) -> Reading {
    guard let event = details["eventId"]?.stringValue, !event.isEmpty, event.utf8.count <= 256,
      let operation = details["walletOperationId"]?.stringValue, !operation.isEmpty,
      operation.utf8.count <= 256
    else { return .unreadable("the demand for SCA names no eventId or no walletOperationId") }
    return .demand(
      SCADemand(
        eventID: event, walletOperationID: operation,
        available: Offer.list(details["availableVerifications"]),
        expiresAt: details["expirationTime"]?.stringValue.flatMap { Timestamp(rfc3339: $0) },
        form: form))
  }
}

extension SCADemand.Offer {
  /// Reads `availableVerifications`; what makes no sense in it is left out.
  package static func list(_ value: JSONValue?) -> [SCADemand.Offer] {
    (value?.arrayValue ?? []).prefix(32).compactMap { SCADemand.Offer($0) }
  }

  package init?(_ value: JSONValue) {
    guard let method = value["method"]?.stringValue, Self.isWord(method) else { return nil }
    let channel = value["channel"]?.stringValue
    guard channel.map(Self.isWord) ?? true else { return nil }
    self.init(
      .init(method: method, channel: channel),
      target: value["target"]?.stringValue.map { ProviderText.clean($0, limit: 100) })
  }

  private static func isWord(_ text: String) -> Bool {
    let isLetter: (UInt8) -> Bool = { (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "_") }
    return (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isLetter)
  }
}

/// `WWW-Authenticate: SCA realm="…", auth-param1="BASE64"`, perhaps among challenges of other schemes
/// (RFC 9110 §11.6.1).
enum SCAChallengeHeader {
  /// - Returns: Nil where no challenge has the scheme SCA; nil inside where its parameter is missing
  ///   or is no Base64.
  static func details(in header: String) -> [UInt8]?? {
    var isSCA = false
    var found: [UInt8]??
    for part in parts(of: header) {
      var parameter = part
      let first = part.prefix { $0 != " " }
      if !first.contains("=") {
        isSCA = first.lowercased() == "sca"
        if isSCA { found = .some(found ?? nil) }
        parameter = part.dropFirst(first.count).drop { $0 == " " }
      }
      guard isSCA, parameter.lowercased().hasPrefix("auth-param1=") else { continue }
      let value = parameter.dropFirst("auth-param1=".count).filter { $0 != "\"" }
      found = .some(Data(base64Encoded: value).map { Array($0) })
    }
    return found
  }

  /// What stands between commas that are not quoted.
  private static func parts(of header: String) -> [Substring] {
    var isQuoted = false
    return header.split { character in
      if character == "\"" { isQuoted.toggle() }
      return character == "," && !isQuoted
    }
    .map { $0.drop { $0 == " " || $0 == "\t" } }
  }
}
