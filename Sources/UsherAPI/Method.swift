/// One method of the socket's contract: the type is its parameters.
///
/// Parameters travel by name. A member the type does not have is refused, so a method's whole
/// contract is its declaration; ``Schema`` and the OpenRPC document are read off it.
public protocol Method: Codable, Sendable {
  associatedtype Reply: Codable & Sendable

  /// `noun.verb`. An incompatible change is a new name.
  static var name: String { get }

  /// What has to be known of the method beside its parameters.
  static var traits: MethodTraits { get }

  /// One sentence for the OpenRPC document.
  static var summary: String { get }

  /// Bytes of parameters that a caller of the app socket may send even where `params_bytes` allows
  /// fewer. Default: none beyond that limit.
  static var ownParamsBytes: Int { get }
}

extension Method {
  /// The sockets that offer the method.
  public static var access: Access { traits.access }

  public static var ownParamsBytes: Int { 0 }
}

/// On which socket a method exists; what a caller may do with it there is the policy's to say.
public enum Access: String, Sendable, Codable {
  /// Both sockets.
  case app
  /// The admin socket only; on the other it is not found.
  case admin
}

/// The reply of a method that has nothing to tell but that it was done.
public struct Done: Codable, Sendable, Equatable {
  public init() {}
}

/// No parameters: what a flow takes that asks for nothing.
public struct NoParams: Codable, Sendable, Equatable {
  public init() {}
}
