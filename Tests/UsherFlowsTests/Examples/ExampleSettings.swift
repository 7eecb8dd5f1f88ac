@testable package import UsherConfig

/// The settings of a provider of type `example`: sign-in with a badge.
package struct ExampleSettings: SettingsSection {
  package var baseURL: ProviderURL
  /// The name of the API key in the credential store. Requests carry the key in a header.
  package var apiKeyCredential: String
  /// The number of seconds for which an access token is valid.
  package var tokenSeconds = 3600

  package init(baseURL: ProviderURL, apiKeyCredential: String) {
    self.baseURL = baseURL
    self.apiKeyCredential = apiKeyCredential
  }

  package static var blank: ExampleSettings {
    ExampleSettings(baseURL: .blank, apiKeyCredential: "")
  }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&baseURL, "base_url", violation: \.baseViolation)
    table.required(&apiKeyCredential, "api_key_credential", violation: \.credentialViolation)
    table.setting(&tokenSeconds, "token_seconds", 60...86_400)
  }
}

extension ExampleSettings: ProviderTypeSettings {
  package static let type = ProviderType.example

  package var variety: ProviderVariety { .example }
  package var tokenAddresses: [String] { [baseURL.text] }
}
