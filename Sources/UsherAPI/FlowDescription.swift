public import JSONRPC

/// A kind of flow at one type of provider, as the OpenRPC document describes it.
public struct FlowDescription: Sendable {
  /// The type of the provider, as in the configuration: `oidc`, `bsa`, ….
  public var providerType: String
  /// The mode of the provider, as in the configuration; nil if the type has no modes.
  public var mode: String?
  public var kind: String
  /// A sentence that describes the flow to users.
  public var summary: String
  /// The schema of the flow's parameters, with descriptions.
  public var params: Schema
  /// The schema of the result of a flow that succeeded, with descriptions.
  public var result: Schema
  public var example: FlowExample

  public init(
    providerType: String, mode: String?, kind: String, summary: String, params: Schema,
    result: Schema, example: FlowExample
  ) {
    self.providerType = providerType
    self.mode = mode
    self.kind = kind
    self.summary = summary
    self.params = params
    self.result = result
    self.example = example
  }

  /// The name of the flow among all flows: `oidc.authorize`, `freedomid.device.authorize`.
  var name: String { [providerType, mode, kind].compactMap(\.self).joined(separator: ".") }

  var paramsName: String { "\(name).params" }
  var resultName: String { "\(name).result" }
}

/// An example of a flow's parameters and of its result.
public struct FlowExample: Sendable, Equatable {
  public var params: JSONValue
  public var result: JSONValue

  public init(_ params: JSONValue, result: JSONValue) {
    self.params = params
    self.result = result
  }
}
