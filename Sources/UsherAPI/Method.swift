public import JSONRPC

/// A JSON-RPC method of the daemon. The stored properties of a conforming type are the method's
/// parameters.
///
/// Parameters are passed by name. A member that the type does not declare is refused, so the
/// declaration is the whole contract: ``Schema`` and the OpenRPC document are derived from it. A
/// member that is nil is absent in JSON; only a ``Nullable`` member is `null`.
public protocol Method: Codable, Sendable, SchemaDocumented {
  /// The values that the method returns. A type that declares no reply returns none.
  associatedtype Reply: Codable & Sendable = Done

  /// The name of the method, as `noun.verb`. An incompatible change gets a new name.
  static var name: String { get }

  /// The properties of the method beside its parameters: who may call it, what is audited, and so
  /// on.
  static var traits: MethodTraits { get }

  /// What the calls of the method are about, for the policy and the audit log.
  static var subject: Subject<Self> { get }

  /// A one-sentence description for the OpenRPC document.
  static var summary: String { get }

  /// What a caller needs to know beyond ``summary``, for the OpenRPC document; empty if there is
  /// nothing more to say.
  static var discussion: String { get }

  /// An example of a call for the OpenRPC document.
  static var example: MethodExample { get }

  /// The minimum for `limits.params_bytes` that applies to this method on the app socket. The
  /// default is 0: only the configured limit applies.
  static var ownParamsBytes: Int { get }
}

extension Method {
  /// The sockets that offer the method, from ``traits``.
  public static var access: Access { traits.access }

  public static var ownParamsBytes: Int { 0 }

  public static var discussion: String { "" }
}

/// An example of a call of a method.
public struct MethodExample: Sendable, Equatable {
  public var params: JSONValue
  public var result: JSONValue

  public init(_ params: JSONValue, returns result: JSONValue) {
    self.params = params
    self.result = result
  }
}

/// The sockets that offer a method. Whether a caller may call the method there is decided by the
/// policy.
public enum Access: String, Sendable, Codable {
  /// The app socket and the admin socket.
  case app
  /// The admin socket only. On the app socket the method is reported as not found.
  case admin
}

/// An empty reply: the method succeeded and returns no values.
public struct Done: Codable, Sendable, Equatable {
  public init() {}
}

/// The parameters of a flow that takes none.
public struct NoParams: Codable, Sendable, Equatable, SchemaDocumented {
  public init() {}
}
