package import UsherAPI

/// The parameters of a flow: its own, and those that it shares with other flows. In JSON both are
/// members of one object.
@dynamicMemberLookup
package struct ComposedParams<
  Own: Codable & Sendable & SchemaDocumented, Common: Codable & Sendable & SchemaDocumented
>: Codable, Sendable, SchemaDocumented {
  package var own: Own
  package var common: Common

  package static var memberDescriptions: [String: String] {
    Common.memberDescriptions.merging(Own.memberDescriptions) { $1 }
  }

  init(_ own: Own, _ common: Common) {
    self.own = own
    self.common = common
  }

  package init(from decoder: any Decoder) throws {
    own = try Own(from: decoder)
    common = try Common(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    try own.encode(to: encoder)
    try common.encode(to: encoder)
  }

  package subscript<Value>(dynamicMember path: WritableKeyPath<Own, Value>) -> Value {
    get { own[keyPath: path] }
    set { own[keyPath: path] = newValue }
  }

  package subscript<Value>(dynamicMember path: WritableKeyPath<Common, Value>) -> Value {
    get { common[keyPath: path] }
    set { common[keyPath: path] = newValue }
  }
}
