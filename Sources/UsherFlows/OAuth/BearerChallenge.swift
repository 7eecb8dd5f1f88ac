/// The reason for which a service refuses an access token: a Bearer or DPoP challenge of the header
/// `WWW-Authenticate` (RFC 6750 §3, RFC 9449 §7.1, RFC 9470 §3).
package struct BearerChallenge: Sendable, Equatable {
  /// The maximum length of a header in bytes.
  package static let maxLength = 8192

  /// The error code, such as `insufficient_user_authentication`; nil if the request had no token.
  package var error: String?
  /// The scope that a token must have.
  package var scope: String?
  /// The classes of authentication of which the user must have used one, with spaces between them.
  package var acrValues: String?
  /// The maximum time since the user's authentication, in seconds.
  package var maxAge: Int?

  /// Reads the first Bearer or DPoP challenge of a header.
  ///
  /// - Parameter header: The value of the header, which may have several challenges (RFC 9110
  ///   §11.6.1).
  /// - Returns: Nil if there is no such challenge, or the header is malformed.
  package init?(_ header: String) {
    guard header.utf8.count <= Self.maxLength, let all = ChallengeReader.challenges(in: header),
      let first = all.first(where: { ["bearer", "dpop"].contains($0.scheme) })
    else { return nil }
    error = first.parameters["error"]
    scope = first.parameters["scope"]
    acrValues = first.parameters["acr_values"]
    guard let age = first.parameters["max_age"] else { return }
    guard let seconds = Int(age), seconds >= 0 else { return nil }
    maxAge = seconds
  }
}

/// Reads the challenges of a `WWW-Authenticate` header (RFC 9110 §11.3, §5.6).
private struct ChallengeReader {
  typealias Challenge = (scheme: String, parameters: [String: String])

  private var rest: Substring.UTF8View

  /// Returns the challenges with their schemes and parameter names in lower case; nil if the header
  /// is malformed, or names a parameter twice.
  static func challenges(in header: String) -> [Challenge]? {
    var reader = ChallengeReader(rest: header[...].utf8)
    var challenges: [Challenge] = []
    reader.skip(" \t,")
    while !reader.rest.isEmpty {
      guard let word = reader.token() else { return nil }
      reader.skip(" \t")
      if reader.rest.first == UInt8(ascii: "="), var challenge = challenges.popLast() {
        reader.rest.removeFirst()
        reader.skip(" \t")
        guard let value = reader.value(), challenge.parameters[word] == nil else { return nil }
        challenge.parameters[word] = value
        challenges.append(challenge)
        reader.skip(" \t")
        guard reader.rest.isEmpty || reader.rest.first == UInt8(ascii: ",") else { return nil }
      } else {
        challenges.append((word, [:]))
      }
      reader.skip(" \t,")
    }
    return challenges
  }

  private mutating func skip(_ characters: StaticString) {
    rest = rest.drop { byte in characters.withUTF8Buffer { $0.contains(byte) } }
  }

  /// Reads a token (RFC 9110 §5.6.2), in lower case.
  private mutating func token() -> String? { word()?.lowercased() }

  private mutating func word() -> String? {
    let word = rest.prefix { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
    }
    rest = rest.dropFirst(word.count)
    return word.isEmpty ? nil : String(Substring(word))
  }

  /// Reads a token, or a quoted string (RFC 9110 §5.6.4).
  private mutating func value() -> String? {
    guard rest.first == UInt8(ascii: "\"") else { return word() }
    rest.removeFirst()
    var value: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return String(validating: value, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else { return nil }
        value.append(escaped)
      default: value.append(byte)
      }
    }
    return nil
  }
}
