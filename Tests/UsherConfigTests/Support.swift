import Testing
import UsherConfig

/// A valid oidc provider, to which a test adds one line.
let provider = """
  [[provider]]
  name = "work"
  type = "oidc"
  issuer = "https://id.example.com"
  client_id = "usher"

  """

/// A valid oauth2 provider.
let server = """
  [[provider]]
  name = "server"
  type = "oauth2"
  base_url = "https://a.example"
  client_id = "usher"
  paths.authorization = "/authorize"
  paths.token = "/token"
  paths.userinfo = "https://api.a.example/me"

  """

/// A valid paysafe provider.
let wallet = """
  [[provider]]
  name = "wallet"
  type = "paysafe"
  base_url = "https://api.example.com/v1"
  client_id = "acme-wallet"

  """

/// A valid truecaller provider.
let phones = """
  [[provider]]
  name = "truecaller"
  type = "truecaller"
  app_key_credential = "app-key"
  app_link = "https://acme.example.com/truecaller"

  """

/// A valid gopay provider.
let identities = """
  [[provider]]
  name = "gopay"
  type = "gopay"
  client_id = "acme-sdk"
  merchant_id = "acme"

  """

/// A valid freedomid provider in device mode.
let people = """
  [[provider]]
  name = "freedom"
  type = "freedomid"
  mode = "device"
  api_key_credential = "freedom-api-key"

  """

/// A valid bsa provider.
let members = """
  [[provider]]
  name = "bsa"
  type = "bsa"
  client_key_credential = "bsa-client-key"
  app_package = "com.example.app"
  app_version = "1.0.0"

  """

/// Returns a valid freedomid provider in mode `oauth2` or `oidc`.
func partner(_ mode: String) -> String {
  people.replacing("mode = \"device\"", with: "mode = \"\(mode)\"") + """
    client_id = "acme"
    client_credential = "freedom-secret"

    """
}

/// Returns a valid rule, to which a test adds one line.
func client(_ match: String, allow: String = "[\"*\"]", name: String = "till") -> String {
  "[[client]]\nname = \"\(name)\"\nmatch = \(match)\nallow = \(allow)\n"
}

func load(_ text: String) throws(ConfigError) -> Config {
  try Config.load(files: [(path: "usherd.toml", text: text)])
}

/// Returns the problems of the configuration, one a line; empty if it is valid.
func problems(_ text: String) -> String {
  problems([("usherd.toml", text)])
}

func problems(_ files: [(path: String, text: String)]) -> String {
  do throws(ConfigError) {
    _ = try Config.load(files: files)
    return ""
  } catch {
    return error.description
  }
}

/// Returns the problem that one more line in a provider causes, without place and key.
func lineProblem(_ line: String, in provider: String) -> String {
  message(problems(provider + line + "\n"))
}

/// Returns the message of a problem `file:line:column: key: message`.
func message(_ description: String) -> String {
  let parts = description.split(separator: ": ", maxSplits: 2, omittingEmptySubsequences: false)
  return parts.count == 3 ? String(parts[2]) : description
}

/// Returns the settings of a provider, which must be of the expected type.
private func settings<Settings: ProviderTypeSettings>(
  _ config: Config, _ place: Int = 0
) throws -> Settings {
  let provider = try #require(config.providers.dropFirst(place).first)
  return try #require(provider.settings as? Settings)
}

func oidc(_ config: Config, _ place: Int = 0) throws -> OIDCSettings {
  try settings(config, place)
}

func truecaller(_ config: Config) throws -> TruecallerSettings { try settings(config) }

func paysafe(_ config: Config) throws -> PaysafeSettings { try settings(config) }

func freedomid(_ config: Config) throws -> FreedomIDSettings { try settings(config) }

func gopay(_ config: Config) throws -> GoPaySettings { try settings(config) }

func bsa(_ config: Config) throws -> BSASettings { try settings(config) }
