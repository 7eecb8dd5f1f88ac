/// A type whose members the OpenRPC document and `provider.get` describe.
///
/// The properties are lazy constants or computed, so that the texts cost nothing until the document
/// is made.
public protocol SchemaDocumented {
  /// The name under which the document defines the type in `components.schemas`, and a description
  /// of the type. Nil for a type that occurs only once: the document contains its schema in place.
  static var component: SchemaComponent? { get }

  /// The descriptions of the members, by the member's name in JSON.
  ///
  /// The build writes this property from the documentation comments of the type's stored
  /// properties. A type whose stored properties are not its members in JSON declares it by hand.
  static var memberDescriptions: [String: String] { get }

  /// The names of the components that describe members of type `JSONValue`, by the name of the
  /// member.
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
