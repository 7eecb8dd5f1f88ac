import Testing
import UsherConfig

/// A provider that is right, to put one wrong thing into.
let provider = """
  [[provider]]
  name = "work"
  type = "oidc"
  issuer = "https://id.example.com"
  client_id = "usher"

  """

/// A provider of the other type that is right, likewise.
let wallet = """
  [[provider]]
  name = "wallet"
  type = "paysafe"
  base_url = "https://api.example.com/v1"
  client_id = "acme-wallet"

  """

/// A provider of the third type that is right, likewise.
let phones = """
  [[provider]]
  name = "truecaller"
  type = "truecaller"
  app_key_credential = "app-key"
  app_link = "https://acme.example.com/truecaller"

  """

/// A provider of the fourth type that is right, likewise.
let identities = """
  [[provider]]
  name = "gopay"
  type = "gopay"
  client_id = "acme-sdk"
  merchant_id = "acme"

  """

/// A provider of the fifth type that is right, likewise.
let people = """
  [[provider]]
  name = "freedom"
  type = "freedomid"
  mode = "device"
  api_key_credential = "freedom-api-key"

  """

/// A provider of the sixth type that is right, likewise.
let members = """
  [[provider]]
  name = "bsa"
  type = "bsa"
  client_key_credential = "bsa-client-key"
  app_package = "com.example.app"
  app_version = "1.0.0"

  """

/// A provider of the fifth type in the modes that a client has.
func partner(_ mode: String) -> String {
  people.replacing("mode = \"device\"", with: "mode = \"\(mode)\"") + """
    client_id = "acme"
    client_credential = "freedom-secret"

    """
}

/// A rule that is right, to put one wrong thing into.
func client(_ match: String, allow: String = "[\"*\"]", name: String = "till") -> String {
  "[[client]]\nname = \"\(name)\"\nmatch = \(match)\nallow = \(allow)\n"
}

func load(_ text: String) throws(ConfigError) -> Config {
  try Config.load(files: [(path: "usherd.toml", text: text)])
}

/// What is wrong with the text, one a line; empty when nothing is.
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

/// What is wrong with one more line in a provider, without place and key.
func lineProblem(_ line: String, in provider: String) -> String {
  message(problems(provider + line + "\n"))
}

/// The last part of `file:line:column: key: message`.
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
