import FoundationEssentials
import JSONRPC
import UsherConfig
import UsherCore

@testable import UsherFlows

/// The reply of a provider in a line of an input: the HTTP status, then headers in brackets, then
/// the body, as in `429 [retry-after: 5] {"error":"slow_down"}`.
struct ReplyLine {
  var reply: HTTPReply

  /// Reads a line; nil if it does not begin with a number of three digits.
  init?(_ line: ArraySlice<UInt8>) {
    guard let status = Int(String(decoding: line.prefix(3), as: UTF8.self)), line.count >= 3,
      (100...599).contains(status)
    else { return nil }
    reply = HTTPReply(status: status)
    var rest = line.dropFirst(3).drop { $0 == UInt8(ascii: " ") }
    while rest.first == UInt8(ascii: "["), let end = rest.firstIndex(of: UInt8(ascii: "]")) {
      let header = String(decoding: rest[..<end].dropFirst(), as: UTF8.self)
      let parts = header.split(separator: ": ", maxSplits: 1)
      if parts.count == 2 { reply.headers[parts[0].lowercased()] = String(parts[1]) }
      rest = rest[end...].dropFirst().drop { $0 == UInt8(ascii: " ") }
    }
    reply.body = Array(rest)
  }
}

extension FuzzTarget {
  /// Every token dialect grants only tokens that can be sent in a header and that expire within ten
  /// years; what it says about an unusable reply can be shown and has no token of the reply.
  static let tokenReply = FuzzTarget("token-reply", words: ["UsherFlows/OAuth"]) { input in
    guard let line = ReplyLine(input[...]) else { return }
    let reply = line.reply.withoutByteOrderMark
    let now = Timestamp(seconds: 1_800_000_000)
    for provider in FlowStates.providers {
      let request = TokenRequest(provider: provider.name, scope: "openid")
      let dialect = provider.tokenDialect
      try checkTokens(dialect.read(reply, to: request, at: now), reply, now)
      _ = dialect.hasRevoked(reply)
      _ = dialect.renewal(Secret("refresh-secret"), scope: nil)
      if let probe = provider.definition.probe {
        try requireShowable(probe.evaluate(.reply(reply)).message, "the probe of \(provider.name)")
      }
    }
    _ = reply.salvagedRefreshToken
    switch DeviceReply(reply, from: ProviderName("work"), at: now) {
    case .granted(let device):
      try requireShowable(device.userCode, "the user code")
      try require((1...300).contains(device.interval), "an interval of \(device.interval) s")
      for url in [device.verificationURI, device.verificationURIComplete ?? "http://"] {
        try require(url.hasPrefix("https://") || url.hasPrefix("http://"), "the page is \(url)")
      }
    case .dead, .misconfigured, .rejected, .retry, .unreadable: break
    }
  }

  /// An error reply that repeats a secret of its request does not contain the secret any more.
  ///
  /// The first line of an input is the secret, the second one a reply.
  static let secretMask = FuzzTarget("secret-mask", maxBytes: 1024, words: []) { input in
    let lines = input.lines
    guard lines.count > 1, (8...64).contains(lines[0].count),
      lines[0].allSatisfy({ (0x21...0x7E).contains($0) }), var line = ReplyLine(lines[1][...])
    else { return }
    line.reply.status = max(line.reply.status, 400)
    let secret = lines[0].text
    let request = HTTPRequest(
      method: .post, url: "https://id.example.com/token", secrets: [Secret(secret)])
    let masked = line.reply.withoutEchoes(of: request)
    for text in masked.texts.flatMap(\.readings) {
      try require(
        !text.lowercased().contains(secret.lowercased()), "the reply still has the secret: \(text)")
    }
    try require(masked.withoutEchoes(of: request) == masked, "masking twice changes the reply")
  }
}

func checkTokens(_ read: TokenReply, _ reply: HTTPReply, _ now: Timestamp) throws {
  switch read {
  case .granted(let tokens):
    let access = tokens.accessToken.unsealed().revealed()
    try require(
      !access.isEmpty && access.utf8.allSatisfy { (0x21...0x7E).contains($0) },
      "the access token cannot be sent: \(access.debugDescription)")
    for end in [tokens.expiresAt, tokens.refreshExpiresAt].compactMap(\.self) {
      try require(
        (now...now + .seconds(315_360_000)).contains(end), "the token expires at \(end)")
    }
  case .dead(let code), .misconfigured(let code), .rejected(let code):
    for text in [code.code, code.error, code.title, code.message] {
      try requireShowable(text, "the provider's error")
    }
  case .retry(let message, let delay):
    try requireShowable(message, "the message")
    try require((.zero ... .seconds(3600)).contains(delay ?? .zero), "a delay of \(delay ?? .zero)")
  case .unreadable(let message):
    let tokens = ["access_token", "refresh_token", "id_token"]
      .compactMap { reply.jsonObject?[$0]?.stringValue }.filter { $0.hasSuffix("-secret") }
    try requireShowable(message, without: tokens, "the message")
  }
}

extension ProviderConfig {
  fileprivate var tokenDialect: any TokenDialect {
    switch definition.tokens(attributes: [:], installation: nil) {
    case .known(let dialect): dialect
    case .discovered(let dialect): dialect(OIDCMetadata(issuer: "https://id.example.com"))
    }
  }
}

extension String {
  /// The text as it is, without what is not visible, and decoded from a form and from Base64.
  fileprivate var readings: [String] {
    let visible = String(String.UnicodeScalarView(unicodeScalars.filter { $0.value > 0x20 }))
    let decoded = FormEncoding.decode("x=\(self)")?.first?.value
    let bytes = Data(base64Encoded: self).map { String(decoding: $0, as: UTF8.self) }
    return [self, visible] + [decoded, bytes].compactMap(\.self)
  }
}

extension HTTPReply {
  /// The texts of the body: the strings and names of a JSON value, or else the whole body.
  var texts: [String] { (try? JSONValue(parsing: body))?.texts ?? [body.text] }
}

extension JSONValue {
  /// The strings, the names of members and the numbers in the value.
  var texts: [String] {
    switch self {
    case .null, .bool: []
    case .integer, .number: [encoded().text]
    case .string(let text): [text]
    case .array(let elements): elements.flatMap(\.texts)
    case .object(let members): members.flatMap { [$0.key] + $0.value.texts }
    }
  }
}
