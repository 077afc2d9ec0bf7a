"""torch.utils.model_zoo: deprecated names of torch.hub's functions."""
from ..hub import _get_torch_home, tqdm
from ..hub import download_url_to_file as _download_url_to_file
from ..hub import load_state_dict_from_url as load_url

__all__ = ["_download_url_to_file", "_get_torch_home", "load_url", "tqdm"]
