public import UsherCore

/// A secret that is sent over the socket, such as an access token in a reply or a code in a
/// parameter.
///
/// The secret is encoded as a plain JSON string. Descriptions and mirrors show `<secret>` instead.
public struct WireSecret: Sendable, Hashable, Codable {
  public let secret: Secret

  public init(_ secret: Secret) { self.secret = secret }
  public init(_ text: String) { secret = Secret(text) }

  public func revealed() -> String { secret.revealed() }

  public init(from decoder: any Decoder) throws {
    secret = Secret(try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(secret.revealed())
  }
}

extension WireSecret: CustomStringConvertible, CustomReflectable {
  public var description: String { "<secret>" }
  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
