import FoundationEssentials
package import JSONRPC
package import UsherCore

/// A demand for Strong Customer Authentication (SCA) with which the wallet API replies to a call
/// (provider contract §2.5).
package struct SCADemand: Codable, Sendable, Equatable {
  package var eventID: String
  package var walletOperationID: String
  /// The verifications that the customer may use. Empty means any method agreed with Paysafe.
  package var available: [Offer]
  package var expiresAt: Timestamp?
  package var form: PaysafeCall.Approval.Form

  /// A verification that the customer may use, with the destination of its challenge.
  package struct Offer: Codable, Sendable, Equatable {
    package var verification: PaysafeCall.Verification
    /// The phone number or e-mail address to which the challenge is sent, masked by Paysafe.
    package var target: String?

    /// Creates an offer.
    ///
    /// - Parameter target: The destination as Paysafe names it; it is cleaned for display here.
    package init(_ verification: PaysafeCall.Verification, target: String? = nil) {
      self.verification = verification
      self.target = ProviderText.shown(target, limit: 100)
    }
  }

  /// The demand for SCA in a reply of the wallet API.
  package enum ParseResult: Sendable, Equatable {
    case demand(SCADemand)
    /// The reply demands SCA in a form that cannot be used. The message is a sentence.
    case unreadable(String)
  }

  /// Returns the demand for SCA in a reply; nil if there is none.
  ///
  /// A demand is a 401 with the authentication scheme SCA, or a member `scaDetails` in a 2xx or 4xx
  /// reply.
  package static func find(in reply: HTTPReply) -> ParseResult? {
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

  private static func read(_ details: JSONValue, _ form: PaysafeCall.Approval.Form) -> ParseResult {
    guard let event = details["eventId"]?.stringValue, event.isSCAIdentifier,
      let operation = details["walletOperationId"]?.stringValue, operation.isSCAIdentifier
    else { return .unreadable("the demand for SCA names no eventId or no walletOperationId") }
    guard let available = Offer.list(details["availableVerifications"]) else {
      return .unreadable("none of the verifications in the demand for SCA can be read")
    }
    return .demand(
      SCADemand(
        eventID: event, walletOperationID: operation, available: available,
        expiresAt: details["expirationTime"]?.stringValue.flatMap { Timestamp(rfc3339: $0) },
        form: form))
  }
}

extension SCADemand {
  /// The demand as a result of the flow `operation` shows it.
  var json: JSONValue {
    var members: [String: JSONValue] = [
      "eventId": .string(eventID), "walletOperationId": .string(walletOperationID),
      "form": .string(form.rawValue), "availableVerifications": .array(available.map(\.json)),
    ]
    members["expirationTime"] = expiresAt.map { .string($0.description) }
    return .object(members)
  }
}

extension SCADemand.Offer {
  fileprivate var json: JSONValue {
    var members: [String: JSONValue] = ["method": .string(verification.method)]
    members["channel"] = verification.channel.map { .string($0) }
    members["target"] = target.map { .string($0) }
    return .object(members)
  }

  /// Reads `availableVerifications` of a reply and drops malformed elements.
  ///
  /// An absent or empty list means any method agreed with Paysafe. Returns nil if the value is not
  /// a list, or if all its elements are malformed.
  static func list(_ value: JSONValue?) -> [SCADemand.Offer]? {
    guard let value, !value.isNull else { return [] }
    guard let elements = value.arrayValue else { return nil }
    let offers = elements.prefix(32).compactMap { SCADemand.Offer($0) }
    return offers.isEmpty && !elements.isEmpty ? nil : offers
  }

  package init?(_ value: JSONValue) {
    guard let method = value["method"]?.stringValue, Self.isWord(method) else { return nil }
    let channel = value["channel"]?.stringValue
    guard channel.map(Self.isWord) ?? true else { return nil }
    self.init(.init(method: method, channel: channel), target: value["target"]?.stringValue)
  }

  /// Whether the text has the form of a method or channel name, known or not.
  static func isWord(_ text: String) -> Bool {
    let isLetter: (UInt8) -> Bool = { (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "_") }
    return (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isLetter)
  }
}

extension String {
  /// Whether the text is acceptable as an `eventId` or `walletOperationId`: not blank, at most 256
  /// bytes, without control characters. `.` and `..` are refused, because the text becomes part of
  /// a path (`ProviderPath.url(under:_:_:)`).
  var isSCAIdentifier: Bool {
    utf8.count <= 256 && !allSatisfy(\.isWhitespace) && self != "." && self != ".."
      && unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}

/// Parses `WWW-Authenticate: SCA realm="…", auth-param1="BASE64"`, which may be one of several
/// challenges of different schemes (RFC 9110 §11.6.1).
enum SCAChallengeHeader {
  /// Returns the decoded `auth-param1` of the header's SCA challenge.
  ///
  /// - Returns: Nil if no challenge has the scheme SCA. A nested nil if no SCA challenge has a
  ///   valid Base64 parameter.
  static func details(in header: String) -> [UInt8]?? {
    var isSCA = false
    var found: [UInt8]??
    for part in parts(of: header) {
      var parameter = part
      let first = part.prefix { $0 != " " && $0 != "=" }
      let rest = part.dropFirst(first.count).drop { $0 == " " }
      if rest.first != "=" {
        isSCA = first.lowercased() == "sca"
        if isSCA { found = .some(found ?? nil) }
        parameter = rest
      }
      guard isSCA, let value = value(of: parameter) else { continue }
      found = .some(found.flatMap(\.self) ?? Data(base64Encoded: value).map { Array($0) })
    }
    return found
  }

  /// Returns the value of `auth-param1`. Blanks around the `=` are allowed (RFC 9110 §11.2).
  private static func value(of parameter: Substring) -> String? {
    let sides = parameter.split(separator: "=", maxSplits: 1).map { side in
      side.filter { $0 != " " && $0 != "\"" }
    }
    return sides.count == 2 && sides[0].lowercased() == "auth-param1" ? sides[1] : nil
  }

  /// Splits the header at commas outside quoted strings.
  private static func parts(of header: String) -> [Substring] {
    var isQuoted = false
    var isEscaped = false
    return header.split { character in
      if character == "\"", !isEscaped { isQuoted.toggle() }
      isEscaped = character == "\\" && isQuoted && !isEscaped
      return character == "," && !isQuoted
    }
    .map { $0.drop { $0 == " " || $0 == "\t" } }
  }
}
