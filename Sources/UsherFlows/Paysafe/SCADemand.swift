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

    /// - Parameter target: Cleaned for people here.
    package init(_ verification: PaysafeCall.Verification, target: String? = nil) {
      self.verification = verification
      let shown = ProviderText.clean(target ?? "", limit: 100)
      self.target = shown.isEmpty ? nil : shown
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

extension SCADemand.Offer {
  /// Reads `availableVerifications`; what makes no sense in it is left out.
  ///
  /// Nil where nothing is left of a list: that an empty one means any method is another matter.
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

  /// The form of a method's and a channel's name, known or not.
  static func isWord(_ text: String) -> Bool {
    let isLetter: (UInt8) -> Bool = { (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "_") }
    return (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isLetter)
  }
}

extension String {
  /// Whether it may be an `eventId` or `walletOperationId`: not blank, at most 256 bytes, no control
  /// characters, and no step in a path (`ProviderPath.url(under:_:_:)`).
  var isSCAIdentifier: Bool {
    utf8.count <= 256 && !allSatisfy(\.isWhitespace) && self != "." && self != ".."
      && unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}

/// `WWW-Authenticate: SCA realm="…", auth-param1="BASE64"`, perhaps among challenges of other schemes
/// (RFC 9110 §11.6.1).
enum SCAChallengeHeader {
  /// - Returns: Nil where no challenge has the scheme SCA; nil inside where none of them has a
  ///   parameter that is Base64.
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

  /// Of `auth-param1`; there may be blanks around the `=` (RFC 9110 §11.2).
  private static func value(of parameter: Substring) -> String? {
    let sides = parameter.split(separator: "=", maxSplits: 1).map { side in
      side.filter { $0 != " " && $0 != "\"" }
    }
    return sides.count == 2 && sides[0].lowercased() == "auth-param1" ? sides[1] : nil
  }

  /// What stands between commas that are not quoted.
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
