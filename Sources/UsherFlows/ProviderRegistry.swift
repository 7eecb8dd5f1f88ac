package import UsherConfig

/// All flows there are: one more is one new file, and one line here.
package enum ProviderRegistry {
  package static func flows(of type: ProviderType) -> [any FlowMachine.Type] {
    switch type {
    case .oidc: [OIDCAuthorize.self, OIDCDevice.self]
    }
  }

  /// Nil where providers of this type have no such flow.
  package static func flow(_ kind: String, of type: ProviderType) -> (any FlowMachine.Type)? {
    flows(of: type).first { $0.kind == kind }
  }
}
