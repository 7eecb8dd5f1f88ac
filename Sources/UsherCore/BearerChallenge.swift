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
  /// The address of the service's metadata, which names its authorization servers (RFC 9728 §5.1).
  /// A client that fetches it must check that the service itself serves it.
  package var resourceMetadata: String?

  /// Reads the first Bearer or DPoP challenge of a header that has an error, or else the first.
  ///
  /// - Parameter header: The value of the header, which may have several challenges (RFC 9110
  ///   §11.6.1).
  /// - Returns: Nil if there is no such challenge, or the header is malformed.
  package init?(_ header: String) {
    guard header.utf8.count <= Self.maxLength, let all = ChallengeReader.challenges(in: header)
    else { return nil }
    let fitting = all.filter { ["bearer", "dpop"].contains($0.scheme) }
    guard let first = fitting.first(where: { $0.parameters["error"] != nil }) ?? fitting.first
    else { return nil }
    error = first.parameters["error"]
    scope = first.parameters["scope"]
    acrValues = first.parameters["acr_values"]
    resourceMetadata = first.parameters["resource_metadata"]
    let areWords = [scope, acrValues].compactMap(\.self).allSatisfy { text in
      text.utf8.count <= 1024
        && text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
    guard areWords else { return nil }
    guard let age = first.parameters["max_age"] else { return }
    guard let seconds = Int(age), seconds >= 0 else { return nil }
    maxAge = seconds
  }
}

extension BearerChallenge {
  /// The maximum time since the user's authentication that the service accepts, in seconds: at
  /// least a minute, since a sign-in takes time and clocks differ; five minutes if the service
  /// names neither a class nor a time. Nil: any.
  package var effectiveMaxAge: Int? {
    maxAge.map { max($0, 60) } ?? (acrValues == nil ? 300 : nil)
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
      if challenges.last?.parameters.isEmpty == true, reader.skipEndOfToken68() {
        // It belongs to the last scheme.
      } else if reader.rest.first == UInt8(ascii: "="), var challenge = challenges.popLast() {
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

  /// Skips the padding of a `token68`, such as Base64 (RFC 9110 §11.2), and returns true; returns
  /// false if the text goes on otherwise.
  private mutating func skipEndOfToken68() -> Bool {
    let padding = rest.prefix { $0 == UInt8(ascii: "=") }
    let after = rest.dropFirst(padding.count).drop { $0 == 0x20 || $0 == 0x09 }
    guard !padding.isEmpty, after.isEmpty || after.first == UInt8(ascii: ",") else { return false }
    rest = after
    return true
  }

  /// Reads a token (RFC 9110 §5.6.2), in lower case.
  private mutating func token() -> String? { word()?.lowercased() }

  private mutating func word() -> String? {
    let word = rest.prefix { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "!#$%&'*+-.^_`|~/".utf8.contains(byte)
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
