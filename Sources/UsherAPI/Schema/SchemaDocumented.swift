/// A type whose members the OpenRPC document and `provider.get` describe.
///
/// The properties are lazy constants or computed, so that the texts cost nothing until the document
/// is made. A test names each member without a description, and each description without a member.
public protocol SchemaDocumented {
  /// The name of the type in `components.schemas`, and what the type is. Nil for a type that occurs
  /// only once: the document contains it in place.
  static var component: SchemaComponent? { get }

  /// What each member means, by its name in JSON.
  static var memberDescriptions: [String: String] { get }

  /// The components that describe members without a Swift type of their own (`JSONValue`), by the
  /// name of the member.
  static var memberComponents: [String: String] { get }
}

extension SchemaDocumented {
  public static var component: SchemaComponent? { nil }
  public static var memberComponents: [String: String] { [:] }
}

/// A schema that the OpenRPC document defines once and refers to by name.
public struct SchemaComponent: Equatable, Sendable {
  public var name: String
  public var description: String

  public init(_ name: String, _ description: String) {
    self.name = name
    self.description = description
  }
}

extension NoParams: SchemaDocumented {
  public static var memberDescriptions: [String: String] { [:] }
}
